"""A person looks at a sandbox's files, changes them, brings some in and takes some out."""

from __future__ import annotations

import io
import re
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Download, FilePayload, Locator, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, said, sandbox_of

MANY_FILES_MS = 120_000


@pytest.fixture(scope="module")
def sandbox(server: Server) -> Iterator[Sandbox]:
    """One for all of them: each works in a folder of its own."""
    with sandbox_of(server, name="filed") as sandbox:
        yield sandbox


@pytest.fixture
def folder(sandbox: Sandbox) -> str:
    path = f"/home/user/{secrets.token_hex(4)}"
    sandbox.files.make_directory(path)
    return path


def entry(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=re.compile("^Folder")).get_by_role(
        "button", name=re.compile(f"^{re.escape(name)}( unsaved)?$")
    )


def open_folder(page: Page, sandbox: Sandbox, path: str, file: str | None = None) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/files?path={path}" + (f"&file={path}/{file}" if file else ""))
    expect(page.get_by_role("region", name=f"Folder {path}")).to_be_visible()


def choose(page: Page, menu: str, item: str) -> None:
    page.get_by_role("button", name=menu).click()
    page.get_by_role("menuitem", name=item).click()


def taken(download: Download) -> bytes:
    return Path(download.path()).read_bytes()


def drop(page: Page, onto: Locator, *paths: Path) -> None:
    """Drags them in from the person's own machine: the browser itself reads what is in folders."""
    box = onto.bounding_box()
    assert box is not None
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 40}
        devtools.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
        if kind == "dragOver":
            expect(page.get_by_text("Drop into /")).to_be_visible()


def test_edited_uploaded_and_downloaded(page: Page, sandbox: Sandbox, folder: str) -> None:
    sandbox.files.write(f"{folder}/notes.txt", "one\ntwo\n")
    open_folder(page, sandbox, folder)
    entry(page, "notes.txt").click()
    editor = page.get_by_role("textbox", name=f"Text of {folder}/notes.txt")
    expect(editor).to_have_value("one\ntwo\n")
    editor.fill("one\ntwo\nthree, żółć\n")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="notes.txt is saved")).to_be_visible()
    assert sandbox.files.read(f"{folder}/notes.txt").decode() == "one\ntwo\nthree, żółć\n"

    editor.press("Control+End")
    page.keyboard.type("four")
    page.keyboard.press("Control+s")
    expect(entry(page, "notes.txt")).not_to_contain_text("unsaved")
    page.keyboard.type(" and more\n")  # One types on where one was.
    expect(entry(page, "notes.txt")).to_contain_text("unsaved")
    page.keyboard.press("Control+s")
    expect(entry(page, "notes.txt")).not_to_contain_text("unsaved")
    assert sandbox.files.read(f"{folder}/notes.txt").decode() == "one\ntwo\nthree, żółć\nfour and more\n"

    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download").first.click()
    assert downloading.value.suggested_filename == "notes.txt"
    assert taken(downloading.value).decode() == "one\ntwo\nthree, żółć\nfour and more\n"

    content = bytes(range(256)) * 4096
    upload = FilePayload(name="data.bin", mimeType="application/octet-stream", buffer=content)
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Upload").click()
    choosing.value.set_files([upload])
    expect(entry(page, "data.bin")).to_be_visible()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 uploaded")
    assert sandbox.files.read(f"{folder}/data.bin") == content

    said(sandbox, f"echo from inside > {folder}/fresh.txt")  # What the agent makes appears by itself.
    expect(entry(page, "fresh.txt")).to_be_visible()


def test_files_and_folders_are_dropped(page: Page, sandbox: Sandbox, folder: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "pages" / "old").mkdir(parents=True)
    (site / "empty").mkdir()
    (site / "index.html").write_text("<h1>Home</h1>")
    (site / "pages" / "żółć.html").write_text("<h1>Deep</h1>")
    for number in range(120):  # A browser tells of a hundred at a time.
        (site / "pages" / "old" / f"{number}.txt").write_text(str(number))
    (tmp_path / "loose.txt").write_text("on its own")
    open_folder(page, sandbox, folder)
    here = page.get_by_role("region", name=f"Folder {folder}")
    drop(page, here, site, tmp_path / "loose.txt")
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("124 uploaded", timeout=MANY_FILES_MS)
    assert sandbox.files.read(f"{folder}/loose.txt") == b"on its own"
    assert sandbox.files.read(f"{folder}/site/pages/żółć.html") == b"<h1>Deep</h1>"
    assert said(sandbox, f"ls {folder}/site/pages/old | wc -l; ls -d {folder}/site/empty").splitlines() == [
        "120",
        f"{folder}/site/empty",
    ]
    expect(entry(page, "site")).to_be_visible()

    # Again, with something else in it: whoever brings it is told what is at stake.
    site = tmp_path / "other" / "site"
    site.mkdir(parents=True)
    (site / "index.html").write_text("<h1>New home</h1>")
    said(sandbox, f"echo mine > {folder}/site/mine.txt")
    page.get_by_role("button", name="Dismiss").first.click()
    drop(page, here, site)
    dialog = page.get_by_role("dialog", name="Replace site?")
    expect(dialog).to_contain_text("What a file holds now is lost, unless a snapshot has it")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)  # As long as it is there, nothing can be dropped beside it.
    assert sandbox.files.read(f"{folder}/site/index.html") == b"<h1>Home</h1>"
    drop(page, here, site)
    page.get_by_role("dialog", name="Replace site?").get_by_role("button", name="Replace").click()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 uploaded")
    assert sandbox.files.read(f"{folder}/site/index.html") == b"<h1>New home</h1>"
    assert sandbox.files.read(f"{folder}/site/mine.txt") == b"mine\n"


def test_a_folder_is_taken_out_and_brought_in(page: Page, sandbox: Sandbox, folder: str, tmp_path: Path) -> None:
    said(sandbox, f"mkdir -p {folder}/work/deep && cd {folder}/work && echo code > deep/main.py && chmod 755 deep/main.py")
    said(sandbox, f"ln -s deep/main.py {folder}/work/run")
    open_folder(page, sandbox, folder)
    with page.expect_download() as downloading:
        choose(page, "Actions for work", "Download as .tar.gz")
    assert downloading.value.suggested_filename == "work.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(taken(downloading.value))) as tar:
        assert tar.getnames() == ["work", "work/deep", "work/deep/main.py", "work/run"]
        tar.extractall(tmp_path, filter="data")
    assert (tmp_path / "work" / "run").read_text() == "code\n"
    assert (tmp_path / "work" / "deep" / "main.py").stat().st_mode & 0o777 == 0o755

    (tmp_path / "work").rename(tmp_path / "copied")
    (tmp_path / "copied" / "run").unlink()
    with page.expect_file_chooser() as choosing:
        choose(page, "More for this folder", "Upload a folder…")
    choosing.value.set_files(tmp_path / "copied")
    expect(entry(page, "copied")).to_be_visible()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 uploaded")
    assert sandbox.files.read(f"{folder}/copied/deep/main.py") == b"code\n"


def test_what_is_not_saved_is_not_lost(page: Page, sandbox: Sandbox, folder: str) -> None:
    sandbox.files.write(f"{folder}/plan.txt", "draft\n")
    sandbox.files.write(f"{folder}/other.txt", "other\n")
    open_folder(page, sandbox, folder, "plan.txt")
    editor = page.get_by_role("textbox", name=f"Text of {folder}/plan.txt")
    editor.fill("half a thought")
    entry(page, "other.txt").click()
    expect(page.get_by_role("textbox", name=f"Text of {folder}/other.txt")).to_have_value("other\n")
    expect(entry(page, "plan.txt")).to_contain_text("unsaved")

    sandbox.pause()
    page.get_by_role("button", name="Wake it").click()
    entry(page, "plan.txt").click()
    expect(editor).to_have_value("half a thought")

    said(sandbox, f"echo meanwhile > {folder}/plan.txt")
    expect(page.get_by_text("It was changed in the sandbox since you opened it")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog", name="Replace a newer file?").get_by_role("button", name="Cancel").click()
    assert sandbox.files.read(f"{folder}/plan.txt") == b"meanwhile\n"
    page.get_by_role("button", name="Close the file").click()
    dialog = page.get_by_role("dialog", name="Close without saving?")
    expect(dialog).to_contain_text("What you changed in plan.txt is lost")
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    entry(page, "plan.txt").click()
    expect(editor).to_have_value("meanwhile\n")


def test_a_file_is_compared_with_a_snapshot(server: Server, page: Page, sandbox: Sandbox, folder: str) -> None:
    sandbox.files.write(f"{folder}/config", "".join(f"line {number}\n" for number in range(50)))
    kept = sandbox.snapshot(name="before-the-change")
    try:
        said(sandbox, f"cd {folder} && sed -i -e 's/line 25/LINE 25/' -e '$a the end' config && echo new > since")
        open_folder(page, sandbox, folder, "config")
        page.get_by_role("button", name="Diff").click()
        page.get_by_label("Compared with").select_option(kept.id)
        expect(page.get_by_role("status").filter(has_text="+2")).to_contain_text("−1")
        rows = page.get_by_role("table", name="Difference").get_by_role("row")
        expect(rows.filter(has_text=re.compile(r"\bLINE 25$"))).to_have_class(re.compile("added"))
        expect(rows.filter(has_text=re.compile(r"\bline 25$"))).to_have_class(re.compile("removed"))
        expect(rows.filter(has_text="line 40")).to_have_count(0)
        entry(page, "since").click()
        page.get_by_role("button", name="Diff").click()
        expect(page.get_by_role("status").filter(has_text="Not in the snapshot: all of it is new.")).to_be_visible()
    finally:
        server.roost.delete_snapshot(kept.id)


def test_deleted_and_renamed(page: Page, sandbox: Sandbox, folder: str) -> None:
    said(sandbox, f"mkdir -p {folder}/old/deep && echo gone > {folder}/old/deep/file && echo text > {folder}/name.txt")
    open_folder(page, sandbox, folder, "name.txt")
    choose(page, "Actions for name.txt", "Rename…")
    dialog = page.get_by_role("dialog", name="Rename name.txt")
    dialog.get_by_label("Name").fill("old")
    expect(dialog).to_contain_text("This name is taken.")
    dialog.get_by_label("Name").fill("better name.txt")
    dialog.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("textbox", name=f"Text of {folder}/better name.txt")).to_have_value("text\n")  # What is open follows.

    choose(page, "Actions for old", "Delete…")
    dialog = page.get_by_role("dialog", name="Delete old?")
    expect(dialog).to_contain_text("The folder and everything in it is deleted")
    expect(dialog).to_contain_text("only a snapshot that has it brings it back")
    dialog.get_by_role("button", name="Delete").click()
    expect(entry(page, "old")).to_have_count(0)
    choose(page, "Actions for better name.txt", "Delete…")
    page.get_by_role("dialog", name="Delete better name.txt?").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="An empty folder")).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("^File "))).to_have_count(0)
    assert said(sandbox, f"ls -A {folder}") == ""
