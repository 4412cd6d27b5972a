"""Files: read, write, list, move, watch; and by signed address."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from e2b import FilesystemEventType, FileType
from e2b.exceptions import FileNotFoundException, InvalidArgumentException

from tests.e2b.conftest import Sdk

pytestmark = pytest.mark.anyio

NOISE = os.urandom(3_000_001)


async def test_what_is_written_is_read(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    info = await sdk.got(files.write('deep/er/näme "q".txt', "text ✓"))
    assert info.path == '/home/user/deep/er/näme "q".txt'
    assert await sdk.got(files.read('deep/er/näme "q".txt')) == "text ✓"
    await sdk.got(files.write("noise", NOISE))
    assert await sdk.got(files.read("noise", format="bytes")) == NOISE
    await sdk.got(files.write("noise", io.BytesIO(NOISE[:1000])))
    assert await sdk.got(files.read("/home/user/noise", format="bytes")) == NOISE[:1000]
    await sdk.got(files.write("empty", ""))
    assert await sdk.got(files.read("empty")) == ""
    assert await sdk.got(files.read("empty", format="bytes")) == b""
    assert "Linux" in await sdk.got(files.read("/proc/version"))


async def test_several_at_once_and_compressed(sdk: Sdk, sandbox: Any) -> None:
    written = await sdk.got(sandbox.files.write_files([{"path": f"many/{n}.bin", "data": bytes([n]) * 1000} for n in range(5)]))
    assert [each.path for each in written] == [f"/home/user/many/{n}.bin" for n in range(5)]
    assert await sdk.got(sandbox.files.read("many/3.bin", format="bytes")) == b"\3" * 1000
    await sdk.got(sandbox.files.write("squeezed", NOISE, gzip=True))
    assert await sdk.got(sandbox.files.read("squeezed", format="bytes", gzip=True)) == NOISE


async def test_a_large_file_is_streamed(sdk: Sdk, sandbox: Any) -> None:
    await sdk.got(sandbox.files.write("noise", NOISE))
    stream = await sdk.got(sandbox.files.read("noise", format="stream"))
    whole = b""
    if isinstance(stream, AsyncIterator):
        async for chunk in stream:
            whole += chunk
    else:
        whole = b"".join(stream)
    assert whole == NOISE


async def test_owner_user_and_metadata(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    await sdk.got(files.write("mine", "x", metadata={"kind": "note"}))
    info = await sdk.got(files.get_info("mine"))
    assert (info.owner, info.group, info.permissions, info.size) == ("user", "user", "-rw-r--r--", 1)
    assert info.metadata == {"kind": "note"}
    await sdk.got(files.write("mine", "y"))
    assert not (await sdk.got(files.get_info("mine"))).metadata
    await sdk.got(files.write("/root/theirs", "x", user="root"))
    assert (await sdk.got(files.get_info("/root/theirs", user="root"))).owner == "root"


async def test_directories(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    assert await sdk.got(files.make_dir("a/b/c")) is True
    assert await sdk.got(files.make_dir("a/b/c")) is False
    await sdk.got(files.write("a/one", "1"))
    await sdk.got(sandbox.commands.run("ln -s one a/link"))
    flat = {each.name: each for each in await sdk.got(files.list("a"))}
    assert {name: each.type for name, each in flat.items()} == {
        "b": FileType.DIR, "link": FileType.SYMLINK, "one": FileType.FILE,
    }  # fmt: skip
    assert flat["link"].symlink_target == "/home/user/a/one"
    assert [each.path for each in await sdk.got(files.list("a", depth=2)) if each.type is FileType.DIR] == [
        "/home/user/a/b",
        "/home/user/a/b/c",
    ]
    moved = await sdk.got(files.rename("a/one", "x/two"))
    assert moved.path == "/home/user/x/two"
    assert await sdk.got(files.exists("a/one")) is False
    assert await sdk.got(files.exists("x/two")) is True
    await sdk.got(files.remove("a"))
    assert await sdk.got(files.exists("a")) is False


async def test_what_is_missing_is_not_found(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    calls = (
        lambda: files.read("none"),
        lambda: files.list("none"),
        lambda: files.get_info("none"),
        lambda: files.rename("none", "x"),
        lambda: files.watch_dir("none", *([lambda _: None] if sdk.is_async else [])),
    )
    for call in calls:
        with pytest.raises(FileNotFoundException):
            await sdk.got(call())
    with pytest.raises(InvalidArgumentException):
        await sdk.got(files.read("/home"))
    with pytest.raises(InvalidArgumentException):
        await sdk.got(files.write("/home", "x"))
    await sdk.got(files.remove("none"))


async def test_a_watched_write_is_three_events(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    await sdk.got(files.make_dir("watched"))
    expected = [FilesystemEventType.CREATE, FilesystemEventType.CHMOD, FilesystemEventType.WRITE]
    if sdk.is_async:
        send, receive = anyio.create_memory_object_stream[Any](100)
        handle = await files.watch_dir("watched", send.send_nowait, recursive=True)
        await files.write("watched/new", "x")
        events = [await receive.receive() for _ in expected]
        await handle.stop()
        send.close()
        receive.close()
    else:
        handle = files.watch_dir("watched", recursive=True)
        files.write("watched/new", "x")
        events = handle.get_new_events()
        handle.stop()
    assert [(each.name, each.type) for each in events] == [("new", kind) for kind in expected]


async def test_new_directories_are_watched_too(sdk: Sdk, sandbox: Any) -> None:
    files = sandbox.files
    await sdk.got(files.make_dir("tree"))
    if sdk.is_async:
        send, receive = anyio.create_memory_object_stream[Any](100)
        handle = await files.watch_dir("tree", send.send_nowait, recursive=True)
        await files.make_dir("tree/sub")
        while (await receive.receive()).name != "sub":
            pass
        await files.write("tree/sub/file", "x")
        while (await receive.receive()).name != "sub/file":
            pass
        await handle.stop()
        send.close()
        receive.close()
    else:
        handle = files.watch_dir("tree", recursive=True)
        files.make_dir("tree/sub")
        assert "sub" in [each.name for each in handle.get_new_events()]
        files.write("tree/sub/file", "x")
        assert "sub/file" in [each.name for each in handle.get_new_events()]
        handle.stop()


async def test_signed_addresses_name_no_sandbox_and_find_it(sdk: Sdk, sandbox: Any) -> None:
    await sdk.got(sandbox.files.write("shared.txt", "for you"))
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.get(sandbox.download_url("shared.txt"))
        assert (answer.status_code, answer.text) == (200, "for you")
        late = await http.get(sandbox.download_url("shared.txt", use_signature_expiration=-10))
        assert (late.status_code, late.json()) == (401, {"code": 401, "message": "signature is already expired"})
        sent = await http.post(sandbox.upload_url("given.txt"), files={"file": ("given.txt", b"from you")})
        assert sent.status_code == 200
        assert await sdk.got(sandbox.files.read("given.txt")) == "from you"
        forged = await http.get(sandbox.download_url("shared.txt").replace("shared.txt", ".bashrc"))
        assert forged.status_code in (401, 404)
