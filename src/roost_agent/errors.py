"""What can go wrong, as the caller sees it.

AgentError
├── HttpError    a plain route answers with this status and `{"code", "message"}`
└── RpcError     an RPC answers with this Connect code, in the unary or the streaming form
ClientGone       the caller hung up; nobody is left to tell
"""

from __future__ import annotations

import errno


class AgentError(Exception):
    """Something the caller is told about, in words."""


class HttpError(AgentError):
    def __init__(self, status: int, message: str, **facts: object) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.facts = facts

    def body(self) -> dict[str, object]:
        return {"code": self.status, "message": printable(self.message), **self.facts}


class RpcError(AgentError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return STATUS_OF_CODE.get(self.code, 500)


class ClientGone(Exception):
    """The connection ended before the exchange did."""


STATUS_OF_CODE = {
    "canceled": 499,
    "unknown": 500,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "already_exists": 409,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "failed_precondition": 400,
    "aborted": 409,
    "out_of_range": 400,
    "unimplemented": 501,
    "internal": 500,
    "unavailable": 503,
    "data_loss": 500,
    "unauthenticated": 401,
}

_CODE_OF_ERRNO = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "invalid_argument",
    errno.EISDIR: "invalid_argument",
    errno.EINVAL: "invalid_argument",
    errno.ENAMETOOLONG: "invalid_argument",
    errno.ELOOP: "invalid_argument",
    errno.EXDEV: "invalid_argument",
    errno.ENXIO: "invalid_argument",
    errno.ENODEV: "invalid_argument",
    errno.ENOTSUP: "invalid_argument",
    errno.ESRCH: "not_found",
    errno.EEXIST: "already_exists",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EROFS: "permission_denied",
    errno.ENOTEMPTY: "failed_precondition",
    errno.EBUSY: "failed_precondition",
    errno.ENOSPC: "resource_exhausted",
    errno.EDQUOT: "resource_exhausted",
    errno.EMFILE: "resource_exhausted",
    errno.ENFILE: "resource_exhausted",
    errno.EAGAIN: "resource_exhausted",
    errno.ENOMEM: "resource_exhausted",
}

_STATUS_OF_ERRNO = {errno.ENOSPC: 507, errno.EDQUOT: 507, errno.EISDIR: 400}


def rpc_error(failure: OSError, doing: str) -> RpcError:
    """The RPC answer for a system call that failed while `doing` something."""
    code = _CODE_OF_ERRNO.get(failure.errno or 0, "internal")
    return RpcError(code, f"{doing}: {failure.strerror or failure}")


def http_error(failure: OSError, doing: str) -> HttpError:
    """The HTTP answer for a system call that failed while `doing` something."""
    number = failure.errno or 0
    status = _STATUS_OF_ERRNO.get(number)
    if status is None:
        status = STATUS_OF_CODE[_CODE_OF_ERRNO.get(number, "internal")]
    return HttpError(status, f"{doing}: {failure.strerror or failure}")


def printable(text: str) -> str:
    """The same without halves of characters, which come from names that are not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
