from __future__ import annotations

import io
import json
import logging

from roost.telemetry.log import Format, Level, configure, get_logger


def test_json_lines_hold_time_level_name_and_facts() -> None:
    stream = io.StringIO()
    configure(Format.JSON, stream=stream)
    get_logger("roost.node").info("slot made", slot=3, name_of_guest="grün")
    line = json.loads(stream.getvalue())
    assert line["event"] == "slot made"
    assert line["level"] == "info"
    assert line["logger"] == "roost.node"
    assert line["slot"] == 3
    assert line["name_of_guest"] == "grün"
    assert line["timestamp"].endswith("Z")


def test_lines_of_libraries_come_out_alike() -> None:
    stream = io.StringIO()
    configure(Format.JSON, stream=stream)
    logging.getLogger("alembic.runtime").warning("port %d is taken", 80)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["logger"]) == ("port 80 is taken", "warning", "alembic.runtime")


def test_below_the_level_nothing_is_written() -> None:
    stream = io.StringIO()
    configure(Format.CONSOLE, Level.WARNING, stream=stream)
    get_logger("roost").info("quiet")
    logging.getLogger("sqlalchemy").info("quiet too")
    assert stream.getvalue() == ""


def test_what_libraries_say_at_every_start_is_heard_when_debugging_only() -> None:
    for level, heard in ((Level.INFO, 0), (Level.DEBUG, 2)):
        stream = io.StringIO()
        configure(Format.JSON, level, stream=stream)
        logging.getLogger("alembic.runtime.migration").info("Context impl SQLiteImpl.")
        logging.getLogger("uvicorn.error").info("Started server process")
        assert len(stream.getvalue().splitlines()) == heard


def test_a_traceback_stays_one_line_in_json() -> None:
    stream = io.StringIO()
    configure(Format.JSON, stream=stream)
    try:
        raise ValueError("broken")
    except ValueError:
        get_logger("roost").exception("it failed")
    [text] = stream.getvalue().splitlines()
    assert "broken" in json.dumps(json.loads(text)["exception"])


def test_a_console_that_is_no_terminal_gets_no_colour() -> None:
    stream = io.StringIO()
    configure(Format.CONSOLE, stream=stream)
    get_logger("roost").info("hello", sandbox="i1")
    assert "hello" in stream.getvalue()
    assert "sandbox=i1" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_configuring_again_moves_the_lines_of_loggers_already_made() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure(Format.JSON, stream=first)
    log = get_logger("roost")
    log.info("one")
    configure(Format.JSON, stream=second)
    log.info("two")
    assert "one" in first.getvalue()
    assert "two" not in first.getvalue()
    assert "two" in second.getvalue()
