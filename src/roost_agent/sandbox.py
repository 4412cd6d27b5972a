"""What the agent knows of its sandbox: token, default user, variables. Set by `/init`, kept in memory only."""

from __future__ import annotations

import os

from roost_agent.errors import RpcError
from roost_agent.users import UnknownUser, User, Users

_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# Tools that bring authorities of their own and must be told of the system's.
_BUNDLE_VARIABLES = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Sandbox:
    """The sandbox's settings. `hooks.init` is the only writer."""

    def __init__(self) -> None:
        self.users = Users()
        self.access_token = ""
        self.default_user = ""
        self.default_workdir = ""
        self.variables: dict[str, str] = {}
        self.sandbox_id = ""
        self.template_id = ""
        self.incarnation = 0
        self.trusts_node = False  # the node speaks for hosts with rules: every tool is to believe it

    def environment(self) -> dict[str, str]:
        """The variables every command starts with, its user's own and the request's aside."""
        defaults = {"E2B_SANDBOX": "true"}
        if self.sandbox_id:
            defaults["E2B_SANDBOX_ID"] = self.sandbox_id
            defaults["ROOST_SANDBOX_ID"] = self.sandbox_id
        if self.template_id:
            defaults["E2B_TEMPLATE_ID"] = self.template_id
        if self.trusts_node:
            defaults |= dict.fromkeys(_BUNDLE_VARIABLES, _BUNDLE)
        return defaults | self.variables

    def command_environment(self, user: User, asked: dict[str, str]) -> dict[str, str]:
        """PATH, then who the user is, then the sandbox's variables, then the request's: later ones win."""
        return {
            "PATH": os.environ.get("PATH") or _PATH,
            "HOME": user.home,
            "USER": user.name,
            "LOGNAME": user.name,
            **self.environment(),
            **asked,
        }

    def acting_user(self, name: str | None) -> User:
        """The user a call acts for. Raises RpcError `unauthenticated` for a name that is not known."""
        if not name:
            return self.users.default(self.default_user)
        try:
            return self.users.find(name)
        except UnknownUser as error:
            raise RpcError("unauthenticated", f"invalid username: '{name}'") from error
