"""A real server with real desktops, and a real browser. Needs root, a set-up cache, and chromium (`make test` sees to it)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from roost.client import Sandbox
from tests.real.server import MADE_WITHIN_S, Server, eventually, sandbox_of, serving
from tests.web.browser import CHROMIUM, launched, visit


@pytest.fixture(scope="session", autouse=True)
def ground() -> None:
    if os.geteuid():
        pytest.fail("tests/web need root (namespaces, mounts, gVisor). `make test-unit` is for everyone else.", pytrace=False)
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: `make test` or `apt-get install chromium` brings it.", pytrace=False)


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """It serves at once; the desktop template is made beside."""
    with serving(templates="base,desktop", volume_size_gb=12) as server:
        yield server


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    with launched(playwright) as browser:
        yield browser


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Page]:
    """Signed in."""
    with visit(browser, server.url, server.key) as page:
        yield page


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def desktop_template(server: Server) -> str:
    """Once it is there."""

    def look() -> str:
        assert "desktop" in {template.name for template in server.roost.templates()}, server.log_tail()
        return "desktop"

    return eventually(look, MADE_WITHIN_S)


@pytest.fixture
def desktop(server: Server, desktop_template: str) -> Iterator[Sandbox]:
    with sandbox_of(server, template=desktop_template) as sandbox:
        yield sandbox
