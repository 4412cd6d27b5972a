"""Every number Roost gives away. Names are here and nowhere else; labels come from enums, so that there are never too many."""

from __future__ import annotations

from enum import StrEnum

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from roost.domain.lifecycle import State


class Work(StrEnum):
    """What `operation` may be about. A new kind of work is a new member."""

    CREATE = "create"
    PAUSE = "pause"
    RESUME = "resume"
    SNAPSHOT = "snapshot"
    FORK = "fork"
    KILL = "kill"
    EXIT = "exit"
    LOSE = "lose"
    WAKE = "wake"
    BUILD = "build"  # a template
    RECOVER = "recover"  # after a restart
    RECONCILE = "reconcile"
    COLLECT = "collect"
    ADOPT = "adopt"  # a sandbox that outlived its server
    CHECKPOINT = "checkpoint"
    RESTORE = "restore"
    BOOT = "boot"
    WARM = "warm"  # fill the pool
    SLOT = "slot"  # make a network slot
    MIGRATE = "migrate"
    SERVE = "serve"


class MetricOutcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    FAILED = "failed"


REGISTRY = CollectorRegistry(auto_describe=True)

OPERATION_SECONDS = Histogram(
    "roost_operation_seconds",
    "How long a piece of work took, by what it was and how it ended.",
    labelnames=("operation", "outcome"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
    registry=REGISTRY,
)
OPERATIONS_RUNNING = Gauge("roost_operations_running", "Pieces of work under way.", labelnames=("operation",), registry=REGISTRY)
SANDBOXES = Gauge("roost_sandboxes", "Sandboxes by state.", labelnames=("state",), registry=REGISTRY)


def count_sandbox(state: State, number: int) -> None:
    SANDBOXES.labels(state.value).set(number)


def render(accept: str = "") -> tuple[bytes, str]:
    """The numbers now and their content type, for a scraper that accepts `accept`."""
    if "application/openmetrics-text" in accept:
        return generate_openmetrics(REGISTRY), CONTENT_TYPE_LATEST
    return generate_latest(REGISTRY), "text/plain; version=0.0.4; charset=utf-8"
