"""What the doors need of the house: the control objects, and a few facts about this server."""

from __future__ import annotations

from dataclasses import dataclass

from roost.api.session import Sessions
from roost.control.drivers import Drivers
from roost.control.feed import Feed
from roost.control.fleet import Fleet
from roost.control.forks import Forks
from roost.control.keys import Keys
from roost.control.links import Links
from roost.control.nodes import Nodes
from roost.control.power import Power
from roost.control.questions import Questions
from roost.control.rollbacks import Rollbacks
from roost.control.sandboxes import Sandboxes
from roost.control.snapshots import Snapshots
from roost.control.templates import Templates
from roost.control.undeletes import Undeletes


@dataclass(frozen=True, slots=True)
class About:
    """Facts that do not change while the server runs."""

    version: str
    domain: str  # sandboxes are reached at <port>-<sandbox>.<domain>
    port: int  # of the public address
    home: str
    pid: int
    engine: str
    agent: str
    scheme: str = "http"


@dataclass(frozen=True, slots=True)
class Services:
    about: About
    sessions: Sessions
    keys: Keys
    sandboxes: Sandboxes
    power: Power
    snapshots: Snapshots
    forks: Forks
    undeletes: Undeletes
    rollbacks: Rollbacks
    templates: Templates
    feed: Feed
    fleet: Fleet
    questions: Questions
    nodes: Nodes
    links: Links
    drivers: Drivers
