"""Who may reach what, decided before anything is woken or sent. Pure.

The agent inside checks its token itself. The edge checks one that is shown too: a token that was rotated opens nothing from that
moment on, whether or not the guest knows. To wake a sandbox one must be shown, since waking costs. Other ports are public, as
E2B's are, and the service behind them decides; unless the sandbox's owner closed them to all who bring neither its traffic token
nor a link (`port_links`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from enum import Enum, auto
from urllib.parse import parse_qs, unquote_to_bytes

from roost.contracts.routes import Route
from roost.domain.sandbox import Ingress
from roost.edge import pages
from roost.edge.admission.resolve import Target
from roost.edge.http.head import RequestHead
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer

# The agent's routes that are its node's alone: whoever could reach them from outside could take the sandbox over.
PRIVATE = frozenset((b"init", b"freeze", b"unfreeze", b"collapse", b"fsfreeze", b"fsthaw", b"upgrade", b"roost"))


TRAFFIC_TOKEN = b"e2b-traffic-access-token"
UNAUTHORIZED = "unauthorized access, please provide a valid access token or method signing if supported"


class AccessStep(Enum):
    FORWARD = auto()
    WAKE = auto()  # then forward


def admit(
    route: Route | None, head: RequestHead, target: Target, now: float, *, is_invited: bool = False
) -> AccessStep | ErrorAnswer:
    """What happens to a request: pass it on, wake its sandbox first, or answer it here. `is_invited`: by a link to this port."""
    if route is None:
        return pages.sandbox_not_found(target.sandbox, head)
    if target.port == AGENT_PORT and is_private(head.target):
        return pages.private_route(target.sandbox)
    if target.port != AGENT_PORT and not is_invited and not may_enter(head, route.ingress):
        return pages.forbidden(target.sandbox, head)
    if route.address is not None:
        why = outdated(head, route.access_token, now) if target.port == AGENT_PORT else None
        return AccessStep.FORWARD if why is None else pages.unauthorized(why)
    if not route.wakes:
        return pages.sandbox_not_found(target.sandbox, head)
    if target.port != AGENT_PORT:
        return AccessStep.WAKE
    if is_preflight(head):
        return pages.preflight()
    why = refusal(head, route.access_token, now)
    return AccessStep.WAKE if why is None else pages.unauthorized(why)


def may_enter(head: RequestHead, ingress: Ingress) -> bool:
    """Whether the sandbox's ports are open to this request without a link."""
    if ingress.public:
        return True
    given = head.get(TRAFFIC_TOKEN)
    return given is not None and ingress.token is not None and hmac.compare_digest(given, ingress.token.encode())


def is_private(target: bytes) -> bool:
    """Whether a request target leads to a private route in anybody's reading of it.

    Public paths of the agent never contain the private words as their first part, so reading too much into a path is safe.
    """
    return leads_to(target, PRIVATE)


def leads_to(target: bytes, names: frozenset[bytes]) -> bool:
    """Whether in any reading of it the path begins with one of these words, in lower case."""
    path = target.partition(b"?")[0].partition(b"#")[0]
    for _ in range(8):
        decoded = unquote_to_bytes(path)
        if decoded == path:
            break
        path = decoded
    else:
        return True  # encoded over and over: nobody's honest request
    # Every turn of the way counts, not only where it ends: somebody may stop reading before a `..`.
    way: list[bytes] = []
    for part in path.replace(b"\\", b"/").lower().split(b"/"):
        name = part.partition(b";")[0].partition(b"?")[0].partition(b"#")[0].strip(b" \t\r\n\0\x0b\x0c")
        if name == b"..":
            del way[-1:]
        elif name not in (b"", b"."):
            way.append(name)
        if way and way[0] in names:
            return True
    return False


def is_preflight(head: RequestHead) -> bool:
    """A browser asking for permission cannot send a token; it is answered as the agent would."""
    return head.method == b"OPTIONS" and head.get(b"access-control-request-method") is not None


def shows_token(head: RequestHead) -> bool:
    """Whether a request for the agent brings a token, or a signature made with one."""
    return head.get(b"x-access-token") is not None or _is_signed(head)


def outdated(head: RequestHead, token: str, now: float) -> str | None:
    """Why what a request shows opens nothing here; None if it is good, or it shows nothing and the agent has to say so."""
    given = head.get(b"x-access-token")
    if not token or (given is None and not _is_signed(head)):
        return None
    if given is not None and not _is_files(head):
        return None if hmac.compare_digest(given, token.encode()) else UNAUTHORIZED
    return refusal(head, token, now)


def _is_files(head: RequestHead) -> bool:
    return head.target.partition(b"?")[0] == b"/files" and head.method in (b"GET", b"HEAD", b"POST")


def _is_signed(head: RequestHead) -> bool:
    return _is_files(head) and b"signature=" in head.target.partition(b"?")[2]


def refusal(head: RequestHead, token: str, now: float) -> str | None:
    """Why a request may not wake the sandbox through its agent, or None if it may."""
    if not token:
        return None
    given = head.get(b"x-access-token")
    if given is not None:
        if hmac.compare_digest(given, token.encode()):
            return None
        return "access token present in header but does not match"
    if _is_files(head):
        return signature_refusal(head.target.partition(b"?")[2], token, write=head.method == b"POST", now=now)
    return "the sandbox is asleep, and waking it needs its access token in the header X-Access-Token"


def signature_refusal(query: bytes, token: str, *, write: bool, now: float) -> str | None:
    """Why a signed file URL is not good, or None if it is. The words are E2B's: its clients compare them."""
    # As the agent reads it: bytes that are no ASCII stand for themselves.
    text = "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in query)
    values = parse_qs(text, keep_blank_values=True, errors="surrogateescape")
    signature = values.get("signature", [""])[0]
    if not signature:
        return "missing signature query parameter"
    path, user = values.get("path", [""])[0], values.get("username", [""])[0]
    expiration = values.get("signature_expiration", [""])[0]
    wanted = sign(path, user, token, write=write, expiration=expiration or None)
    if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), wanted.encode()):
        return "invalid signature"
    if expiration and not (expiration.isascii() and expiration.isdigit() and int(expiration) >= int(now)):
        return "signature is already expired"
    return None


def sign(path: str, user: str, token: str, *, write: bool, expiration: str | None) -> str:
    parts = [path, "write" if write else "read", user, token]
    if expiration is not None:
        parts.append(expiration)
    digest = hashlib.sha256(":".join(parts).encode("utf-8", "surrogateescape")).digest()
    return "v1_" + base64.b64encode(digest).decode().rstrip("=")
