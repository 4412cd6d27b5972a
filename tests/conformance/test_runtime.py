from __future__ import annotations

from pathlib import Path

import pytest

from roost.testing.conformance.runtime import Bench, RuntimeConformance
from roost.testing.runtime import FakeRuntime


class TestFakeRuntime(RuntimeConformance):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        def bundle(name: str) -> Path:
            path = tmp_path / name
            path.mkdir()
            (path / "config.json").write_text("{}")
            return path

        images = tmp_path / "images"
        images.mkdir()
        return Bench(FakeRuntime(), bundle, images)
