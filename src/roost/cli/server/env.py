"""`roost env`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from roost.cli.options import AsJson
from roost.cli.rendering import say, say_json

if TYPE_CHECKING:
    from roost.client.endpoint import Endpoint


def env(as_json: AsJson = False) -> None:
    """Print the variables that point clients, Roost's and E2B's, to this server: `eval "$(roost env)"`."""
    variables = variables_of()
    if as_json:
        say_json(variables)
    else:
        for name, value in variables.items():
            say(f"export {name}={shlex.quote(value)}")


def variables_of() -> dict[str, str]:
    from roost.client import calls
    from roost.client.blocking.roost import Roost
    from roost.client.endpoint import find_endpoint

    endpoint = find_endpoint()
    with Roost(endpoint=endpoint) as roost:
        return variables_for(endpoint, roost.run(calls.version())["domain"])


def variables_for(endpoint: Endpoint, domain: str) -> dict[str, str]:
    """For a server at that address, whose sandboxes have names below the domain."""
    from urllib.parse import urlsplit

    address = urlsplit(endpoint.url)
    variables = {
        "ROOST_URL": endpoint.url,
        "ROOST_API_KEY": endpoint.key,
        "E2B_API_URL": endpoint.url,
        "E2B_API_KEY": endpoint.key,
        "E2B_DOMAIN": f"{domain}:{address.port}" if address.port else domain,
    }
    if address.scheme == "http":
        # E2B's clients reach a sandbox by its own name with https only; by this address with either.
        variables["E2B_SANDBOX_URL"] = endpoint.url
    elif endpoint.ca is not None:
        # Python's clients take one file instead of the machine's. Node takes one beside those it came with, in place of the one
        # that a machine with an authority of its own had set: so it is the same, which has that one too.
        bundle = str(endpoint.ca.with_name("bundle.pem"))
        variables |= {"SSL_CERT_FILE": bundle, "NODE_EXTRA_CA_CERTS": bundle}
    return variables
