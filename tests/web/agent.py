"""The other party in these tests: an agent that works in its sandbox by the API while a person looks on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from roost.client import Sandbox
from tests.real.server import Server, eventually

HALF_TYPED = """<!doctype html>
<html><head><meta charset="utf-8"><title>not yet</title><style>
  body { margin: 0; background: #fdf6e3; } textarea { width: 90vw; height: 80vh; font: 28px monospace; border: 0; }
</style></head><body><textarea autofocus></textarea><script>
  const field = document.querySelector('textarea');
  field.addEventListener('input', () => { document.title = '[' + field.value + ']'; });
  addEventListener('focus', () => field.focus());
  document.title = '[]';
</script></body></html>"""


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent can do on its desktop."""

    sandbox: Sandbox
    http: httpx.Client

    def ask(self, path: str, **params: str) -> Any:
        return self.http.get(path, params=params).raise_for_status().json()

    def act(self, path: str, **body: Any) -> httpx.Response:
        """The answer as it is: it may be refused while a person drives."""
        return self.http.post(path, json=body)

    def titles(self) -> list[str]:
        return [window["title"] for window in self.ask("/desktop/windows")["windows"]]

    def opens_a_terminal(self) -> None:
        """Returns when it has the keyboard."""
        self.act("/desktop/open", program="xfce4-terminal").raise_for_status()

        def look() -> None:
            windows = self.ask("/desktop/windows")["windows"]
            assert any(window["focused"] and "terminal" in window["class"].lower() for window in windows), windows

        eventually(look, within_s=60)

    def opens_a_page_with_a_text_field(self) -> None:
        """Returns when Chromium shows it and it listens."""
        self.sandbox.files.write("/home/user/page.html", HALF_TYPED)
        self.act("/desktop/open", url="file:///home/user/page.html").raise_for_status()
        self.sees("[]")

    def sees(self, text: str) -> None:
        """Returns when a window's title holds it: the page above puts there what was typed."""

        def look() -> None:
            titles = self.titles()
            assert any(text in title for title in titles), titles

        eventually(look, within_s=60)


@contextmanager
def agent_of(server: Server, sandbox: Sandbox) -> Iterator[Agent]:
    headers = {**sandbox.access.headers(), "X-Access-Token": str(sandbox.tokens().access_token)}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60, trust_env=False) as http:
        yield Agent(sandbox, http)


def ask(server: Server, sandbox: Sandbox, **question: Any) -> dict[str, Any]:
    answer = httpx.post(
        f"{server.url}/v1/sandboxes/{sandbox.id}/questions",
        json=question,
        headers={"X-API-Key": server.key},
        timeout=60,
        trust_env=False,
    )
    assert answer.status_code == 201, answer.text
    return answer.json()
