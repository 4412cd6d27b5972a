from __future__ import annotations

from roost_agent.hooks.memory_files import too_large

MB = 1 << 20


def test_what_fits_stays() -> None:
    assert too_large(1024 * MB, {"/tmp": 512 * MB, "/dev/shm": 256 * MB}) == {}


def test_what_a_larger_template_gave_is_cut_to_a_half_and_a_quarter() -> None:
    assert too_large(512 * MB, {"/tmp": 1024 * MB, "/dev/shm": 512 * MB}) == {"/tmp": 256 * MB, "/dev/shm": 128 * MB}


def test_a_little_less_memory_than_asked_for_is_no_reason() -> None:
    assert too_large(1020 * MB, {"/tmp": 512 * MB, "/dev/shm": 256 * MB}) == {}


def test_what_is_no_file_system_of_its_own_has_no_size() -> None:
    assert too_large(512 * MB, {"/tmp": 0, "/dev/shm": 0}) == {}
