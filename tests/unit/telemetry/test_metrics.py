from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from roost.domain.lifecycle import State
from roost.telemetry.metrics import REGISTRY, count_sandbox, render


def test_the_page_is_readable_by_a_scraper() -> None:
    count_sandbox(State.PAUSED, 4)
    body, kind = render()
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert kind.startswith("text/plain; version=0.0.4")
    assert {s.labels["state"]: s.value for s in families["roost_sandboxes"].samples}["paused"] == 4


def test_openmetrics_when_asked_for() -> None:
    body, kind = render("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    assert kind.startswith("application/openmetrics-text")


def test_every_name_says_whose_it_is() -> None:
    assert all(family.name.startswith("roost_") for family in REGISTRY.collect())
