"""What E2B's clients send. Unknown fields are ignored: every new client brings some.

What is answered has no models here: `rendering` writes E2B's objects as they are on the wire.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from roost.api.v1.models import Pairs, Seconds, Text, Whole

Ref = Annotated[str, Path(description="An id or name, percent-encoded as one segment."), AfterValidator(unquote)]


class Sent(BaseModel):
    """A body, or a part of one."""

    model_config = ConfigDict(strict=True)


class AutoResume(Sent):
    enabled: bool = False


class EgressProxyTls(Sent):
    enabled: bool = False
    serverName: Text | None = None
    caCert: Text | None = None


class EgressProxy(Sent):
    address: Text
    username: Text | None = None
    password: Text | None = None
    tls: EgressProxyTls | None = None


class Transform(Sent):
    headers: Pairs | None = None


class Rule(Sent):
    transform: Transform | None = None
    plain: bool = False  # ours


class NetworkUpdate(Sent):
    """What may be reached from inside. Left out means the default: this replaces what was set before."""

    allowOut: list[Text] | None = None
    denyOut: list[Text] | None = None
    dnsServers: list[Text] | None = None
    egressProxy: EgressProxy | None = None
    rules: dict[Text, list[Rule]] | None = None
    allow_internet_access: bool | None = None


class Network(NetworkUpdate):
    allowPublicTraffic: bool | None = None
    maskRequestHost: Text | None = None
    httpsPorts: list[Whole] | None = None


class E2bCreateBody(Sent):
    templateID: Text
    timeout: Seconds | None = None
    autoPause: bool | None = None
    autoPauseMemory: bool | None = None
    autoResume: AutoResume | None = None
    allow_internet_access: bool | None = None
    network: Network | None = None
    metadata: Pairs | None = None
    envVars: Pairs | None = None
    iam: dict[str, object] | None = None
    volumeMounts: list[dict[str, object]] | None = None


class ConnectBody(Sent):
    timeout: Seconds | None = None
    memory: bool | None = None


class E2bResumeBody(Sent):
    timeout: Seconds | None = None
    autoPause: bool | None = None


class E2bPauseBody(Sent):
    memory: bool | None = None


class TimeoutBody(Sent):
    timeout: Seconds


class RefreshBody(Sent):
    duration: Annotated[Seconds, Field(ge=0, le=3600)] | None = None


class E2bForkBody(Sent):
    timeout: Seconds | None = None
    count: Annotated[int, Field(ge=1, le=20)] | None = None


class E2bSnapshotBody(Sent):
    name: Text | None = None
    memory: bool | None = None


class E2bKeyBody(Sent):
    name: Text


class BuildRequested(Sent):
    name: Text | None = None
    alias: Text | None = None  # of older clients
    tags: list[Text] | None = None
    cpuCount: Whole | None = None
    memoryMB: Whole | None = None


class BuildStepSent(Sent):
    type: Literal["COPY", "ENV", "RUN", "WORKDIR", "USER"]
    args: list[str] = []
    filesHash: Text | None = None
    force: bool = False


class BuildStart(Sent):
    fromImage: Text | None = None
    fromTemplate: Text | None = None
    fromImageRegistry: dict[str, object] | None = None
    force: bool = False
    steps: list[BuildStepSent] = []
    startCmd: str | None = None
    readyCmd: str | None = None


class TagsAssigned(Sent):
    target: Text
    tags: list[Text]


class TagsRemoved(Sent):
    name: Text
    tags: list[Text]
