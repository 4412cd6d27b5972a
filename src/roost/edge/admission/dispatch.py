"""Whom a request is for: the API, a port of a sandbox, or nobody, who is answered here."""

from __future__ import annotations

from dataclasses import dataclass

from roost.edge import pages
from roost.edge.admission.api_host import refuse_browser, without_cookies
from roost.edge.admission.hosts import Hosts
from roost.edge.admission.resolve import HostResolver, Target
from roost.edge.admission.signatures import Signatures
from roost.edge.http.head import RequestHead
from roost.edge.pages import ErrorAnswer


@dataclass(frozen=True, slots=True)
class ForSandbox:
    target: Target
    head: RequestHead  # as the sandbox may get it


class Dispatcher:
    def __init__(self, hosts: Hosts, resolver: HostResolver, signatures: Signatures) -> None:
        self._hosts = hosts
        self._resolver = resolver
        self._signatures = signatures

    def dispatch(self, head: RequestHead) -> ForSandbox | ErrorAnswer | None:
        """None: it is for the API. Raises Invalid."""
        if not self._hosts.has(head.host):
            return pages.unknown_host(head, self._hosts.domain)
        target = self._resolver.resolve(head) or self._signatures.resolve(head)
        if target is None or isinstance(target, ErrorAnswer):
            return target
        if target.by_name:
            return ForSandbox(target, head)
        refused = refuse_browser(head, target, self._resolver.own_host(target, head))
        return refused or ForSandbox(target, without_cookies(head))
