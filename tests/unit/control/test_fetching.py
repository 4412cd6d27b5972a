"""ADD of an address, by the script that a builder runs: against a web server and a repository of this machine."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.control.builds.fetching import fetch_words
from roost.domain.build_actions import FetchFile

CONTENT = b"content\n"
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
TOOLS = ("sh", "mkdir", "dirname", "chmod", "chown", "mv", "rm", "sha256sum", "mktemp", "cp", "cat")


class _Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path.startswith("/files/") else 404)
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def fetch(action: FetchFile, tools: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = fetch_words(action)
    path = str(tools) if tools else os.environ["PATH"]
    return subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": path, "HOME": "/nonexistent"})


def image_with(path: Path, *more: str) -> Path:
    """A PATH that has little."""
    path.mkdir()
    for name in (*TOOLS, *more):
        found = os.path.realpath(sys.executable) if name == "python3" else shutil.which(name)
        if not found:
            pytest.skip(f"there is no {name}")
        (path / name).symlink_to(found)
    return path


@pytest.mark.parametrize("tool", ["curl", "wget", "python3"])
def test_a_file_is_fetched_with_what_there_is(site: str, tmp_path: Path, tool: str) -> None:
    done = fetch(FetchFile(f"{site}/files/a%20b?x=1", f"{tmp_path}/new/", CHECKSUM), image_with(tmp_path / "bin", tool))
    assert done.returncode == 0, done.stderr
    made = tmp_path / "new/a b"
    assert made.read_bytes() == CONTENT
    assert made.stat().st_mode & 0o7777 == 0o600
    assert [path.name for path in made.parent.iterdir()] == ["a b"]


def test_targets_modes_and_names(site: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert fetch(FetchFile(f"{site}/files/tool", f"{tmp_path}/there", mode=0o755)).returncode == 0
    assert fetch(FetchFile(f"{site}/files/tool", f"{tmp_path}/called", mode="u=rw,go=r")).returncode == 0
    assert (tmp_path / "there/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "called").stat().st_mode & 0o777 == 0o644


def test_another_content_is_refused_and_nothing_is_left(site: str, tmp_path: Path) -> None:
    done = fetch(FetchFile(f"{site}/files/a", f"{tmp_path}/a", "sha256:" + "0" * 64))
    assert done.returncode == 1 and f"is {CHECKSUM}, not" in done.stderr
    assert fetch(FetchFile(f"{site}/gone", f"{tmp_path}/a")).returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_an_image_without_tools_says_so(site: str, tmp_path: Path) -> None:
    done = fetch(FetchFile(f"{site}/files/a", f"{tmp_path}/a"), image_with(tmp_path / "bin"))
    assert done.returncode == 127 and "neither curl nor wget nor python3" in done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> tuple[str, str]:
    """Its address, and the commit that is tagged v1."""
    folder = tmp_path / "project.git"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/file").write_text("one")
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (folder / "sub/file").write_text("two")
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    return f"file://{folder}", commit


def test_a_repository_is_cloned(repository: tuple[str, str], tmp_path: Path) -> None:
    url, commit = repository
    assert fetch(FetchFile(url, f"{tmp_path}/head/")).returncode == 0
    assert (tmp_path / "head/sub/file").read_text() == "two"
    assert not (tmp_path / "head/.git").exists()
    assert fetch(FetchFile(f"{url}#v1:sub", f"{tmp_path}/sub", commit)).returncode == 0
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["file"]
    assert fetch(FetchFile(f"{url}#v1", f"{tmp_path}/kept", keeps_git_dir=True)).returncode == 0
    assert (tmp_path / "kept/.git").is_dir()
    wrong = fetch(FetchFile(url, f"{tmp_path}/wrong", commit))
    assert wrong.returncode == 1 and f"not {commit}" in wrong.stderr
    assert not (tmp_path / "wrong").exists()
