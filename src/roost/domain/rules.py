"""Header transforms of an egress policy: what a rule may say, and what of it must not come back in an answer."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from roost.domain.errors import Invalid, Unsupported
from roost.domain.hosts import host_pattern, is_numeric, without_port

MOST_RULES = 10
MOST_HEADERS = 20
LONGEST_HEADER_BYTES = 8192
SHORTEST_SECRET_BYTES = 8
"""Anything shorter is a word that answers have for reasons of their own, and no secret that would hold."""

MASK = "********"
"""What is shown in place of a header's value. Sent back, it stands for the value that is kept."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PLACEHOLDER = re.compile(r"\$\{e2b\.[^}]*\}")
_FRAMING = frozenset(
    ("connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that say where a request goes and where it ends: a rule that set them would make another request of it."""
_OPEN_HEADERS = frozenset(
    (
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "content-type",
        "from",
        "origin",
        "pragma",
        "prefer",
        "referer",
        "user-agent",
    )
)
"""Headers that say nothing secret, and whose values answers have too."""


def masked(rules: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The rules as they may be shown: values are often secrets."""
    return {host: dict.fromkeys(headers, MASK) for host, headers in rules.items()}


def unmasked(wanted: Mapping[str, Mapping[str, str]], kept: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The rules with the values that are kept in place of their masks. Raises Invalid for a mask behind which there is none."""
    rules: dict[str, dict[str, str]] = {}
    for host, headers in wanted.items():
        known = kept.get(host, {})
        for name, value in headers.items():
            if value == MASK and known.get(name, MASK) == MASK:
                raise Invalid(
                    "mask_of_nothing",
                    f"The rule for {host} has {MASK} for {name}, which stands for the value that is kept; but none is."
                    " Send the value itself.",
                    field="rules",
                    entry=host,
                )
        rules[host] = {name: known[name] if value == MASK else value for name, value in headers.items()}
    return rules


def check_rules(rules: Mapping[str, Mapping[str, str]], plain: Iterable[str]) -> None:
    """Raises Invalid, or Unsupported for E2B's placeholders."""
    if len(rules) > MOST_RULES:
        raise Invalid("egress_too_long", f"There are rules for {len(rules)} hosts; {MOST_RULES} is the most.", field="rules")
    for host, headers in rules.items():
        _check_host(host)
        if len(headers) > MOST_HEADERS:
            message = f"The rule for {host} sets {len(headers)} headers; {MOST_HEADERS} is the most."
            raise Invalid("egress_too_long", message, field="rules", entry=host)
        for name, value in headers.items():
            _check_header(host, name, value)
    for host in plain:
        if host not in rules:
            message = f"{host[:100]!r} is to get headers over plain http, but there is no rule for it."
            raise Invalid("egress_invalid", message, field="rules", entry=host[:100])


def secrets_of(headers: Mapping[str, str]) -> frozenset[bytes]:
    """The texts that answers to requests with these headers must not show: each value, the credential in it (behind
    `Bearer`; in Basic also the password; the values of cookies), and all of them as JSON and URLs would write them."""
    told: set[str] = set()
    for name, value in headers.items():
        if name.lower() not in _OPEN_HEADERS and not name.lower().endswith("-version"):
            told |= {value, *_credentials(name.lower(), value)}
    return frozenset(form for text in told if len(text) >= SHORTEST_SECRET_BYTES for form in _forms(text))


def _credentials(name: str, value: str) -> Iterable[str]:
    if name == "cookie":
        yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        return
    scheme, _, credential = value.partition(" ")
    yield credential.strip()
    if scheme.lower() == "basic":
        try:
            both = base64.b64decode(credential.strip(), validate=True).decode("utf-8", "surrogateescape")
        except (binascii.Error, ValueError):
            return
        yield both
        yield both.partition(":")[2]


def _forms(text: str) -> Iterable[bytes]:
    """As it is (in the two encodings that a header value may come back in), and escaped."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    for form in (text, plain, plain.replace("/", "\\/"), json.dumps(text)[1:-1]):
        yield form.encode("utf-8", "surrogateescape")
    if all(ord(character) < 0x100 for character in text):
        yield text.encode("latin-1")
        yield quote(text, safe="", encoding="latin-1").encode()
    yield quote(text, safe="", errors="surrogateescape").encode()
    yield quote(text, errors="surrogateescape").encode()
    yield quote_plus(text, errors="surrogateescape").encode()


def _check_host(host: str) -> None:
    if (alone := without_port(host)) is not None:
        message = f"The rule for {host[:100]!r} names a port. A rule is for a host, whatever the port: write {alone[:100]}."
        raise Invalid("egress_invalid", message, field="rules", entry=host[:100])
    if is_numeric(host):
        message = f"The rule for {host[:100]!r} is for an address. Rules are for hosts by name: api.example.com."
        raise Invalid("egress_invalid", message, field="rules", entry=host[:100])
    host_pattern("rules", host)


def _check_header(host: str, name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING or name.lower().startswith("proxy-"):
        message = f"The rule for {host} cannot set the header {name[:100]!r}: it is none, or it says where a request ends."
        raise Invalid("egress_invalid", message, field="rules", entry=host)
    if _PLACEHOLDER.search(value):
        message = f"The rule for {host} wants {_PLACEHOLDER.findall(value)[0][:100]}, but this Roost keeps no secrets yet."
        raise Unsupported("not_there", f"{message} Put the value itself there.", field="rules", entry=host)
    if not _VALUE.fullmatch(value) or len(value) > LONGEST_HEADER_BYTES or value != value.strip():
        message = f"The rule for {host} gives the header {name} a value that HTTP cannot carry: one line, at most 8192 bytes."
        raise Invalid("egress_invalid", message, field="rules", entry=host)
