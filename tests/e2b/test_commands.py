"""Commands, terminals, git."""

from __future__ import annotations

from typing import Any

import pytest
from e2b import CommandExitException, PtySize
from e2b.exceptions import AuthenticationException, InvalidArgumentException, TimeoutException

from tests.e2b.conftest import Sdk

pytestmark = pytest.mark.anyio


async def test_a_command_has_its_output_its_code_and_its_surroundings(sdk: Sdk, sandbox: Any) -> None:
    seen: list[str] = []
    result = await sdk.got(
        sandbox.commands.run("echo out; echo err >&2; echo $WORD; pwd", envs={"WORD": "w"}, cwd="/tmp", on_stdout=seen.append)
    )
    assert (result.stdout, result.stderr, result.exit_code) == ("out\nw\n/tmp\n", "err\n", 0)
    assert "".join(seen) == result.stdout
    assert (await sdk.got(sandbox.commands.run("echo $WORD"))).stdout == "\n"
    assert (await sdk.got(sandbox.commands.run("whoami; sudo whoami"))).stdout == "user\nroot\n"
    assert (await sdk.got(sandbox.commands.run("whoami", user="root"))).stdout == "root\n"
    with pytest.raises(CommandExitException) as failed:
        await sdk.got(sandbox.commands.run("echo no >&2; exit 3"))
    assert (failed.value.exit_code, failed.value.stderr) == (3, "no\n")
    with pytest.raises(InvalidArgumentException, match="does not exist"):
        await sdk.got(sandbox.commands.run("pwd", cwd="/none/such"))
    with pytest.raises(AuthenticationException, match="invalid username: 'nobody123'"):
        await sdk.got(sandbox.commands.run("pwd", user="nobody123"))


async def test_large_output_comes_whole(sdk: Sdk, sandbox: Any) -> None:
    result = await sdk.got(sandbox.commands.run("seq 200000"))
    assert result.stdout == "".join(f"{number}\n" for number in range(1, 200001))


async def test_a_command_outlives_its_caller_and_is_found_again(sdk: Sdk, sandbox: Any) -> None:
    running = await sdk.got(sandbox.commands.run("read line; echo got $line; exit 4", background=True, stdin=True, timeout=0))
    found = {each.pid: each for each in await sdk.got(sandbox.commands.list())}
    assert "read line" in " ".join(found[running.pid].args)
    await sdk.got(running.disconnect())
    again = await sdk.got(sandbox.commands.connect(running.pid))
    await sdk.got(sandbox.commands.send_stdin(running.pid, "hello\n"))
    with pytest.raises(CommandExitException) as ended:
        await sdk.got(again.wait())
    assert (ended.value.stdout, ended.value.exit_code) == ("got hello\n", 4)
    assert await sdk.got(sandbox.commands.kill(running.pid)) is False


async def test_stdin_is_closed(sdk: Sdk, sandbox: Any) -> None:
    running = await sdk.got(sandbox.commands.run("wc -c", background=True, stdin=True))
    await sdk.got(sandbox.commands.send_stdin(running.pid, "x" * 100_000))
    await sdk.got(sandbox.commands.close_stdin(running.pid))
    assert (await sdk.got(running.wait())).stdout == "100000\n"


async def test_stdin_is_streamed(sdk: Sdk, sandbox: Any) -> None:
    running = await sdk.got(sandbox.commands.run("wc -l", background=True, stdin=True))
    if sdk.is_async:
        async with sandbox.commands.stream_input(running.pid) as stream:
            for number in range(50):
                await stream.send(f"{number}\n")
    else:
        sandbox.commands.stream_input(running.pid, (f"{number}\n" for number in range(50)))
    await sdk.got(sandbox.commands.close_stdin(running.pid))
    assert (await sdk.got(running.wait())).stdout == "50\n"


async def test_a_command_is_killed_with_what_it_started(sdk: Sdk, sandbox: Any) -> None:
    running = await sdk.got(sandbox.commands.run("sleep 1000 & echo $!; wait", background=True, timeout=0))
    assert await sdk.got(running.kill()) is True
    with pytest.raises(CommandExitException) as ended:
        await sdk.got(running.wait())
    assert (ended.value.exit_code, ended.value.error) == (-1, "signal: killed")
    assert (await sdk.got(sandbox.commands.run(f"kill -0 {running.pid} 2>/dev/null || echo gone"))).stdout == "gone\n"


async def test_a_timeout_kills_the_command_and_says_so(sdk: Sdk, sandbox: Any) -> None:
    with pytest.raises(TimeoutException, match="timeout"):
        await sdk.got(sandbox.commands.run("echo $$ > pid; exec sleep 1000", timeout=1))
    gone = "until ! kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done; echo gone"
    assert (await sdk.got(sandbox.commands.run(gone))).stdout == "gone\n"


async def test_a_terminal(sdk: Sdk, sandbox: Any) -> None:
    seen = bytearray()
    if sdk.is_async:
        terminal = await sandbox.pty.create(PtySize(rows=24, cols=80), on_data=seen.extend)
    else:
        terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    await sdk.got(sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100)))
    await sdk.got(sandbox.pty.send_stdin(terminal.pid, b"tput cols; tty; echo do''ne; exit 5\n"))
    with pytest.raises(CommandExitException) as ended:
        await sdk.got(terminal.wait() if sdk.is_async else terminal.wait(on_pty=seen.extend))
    text = seen.decode()
    assert ended.value.exit_code == 5
    assert "100\r\n" in text and "/dev/pts/" in text and "done\r\n" in text


async def test_a_terminal_is_killed(sdk: Sdk, sandbox: Any) -> None:
    if sdk.is_async:
        terminal = await sandbox.pty.create(PtySize(rows=24, cols=80), on_data=lambda _: None, timeout=0)
    else:
        terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
    assert await sdk.got(sandbox.pty.kill(terminal.pid)) is True
    with pytest.raises(CommandExitException):
        await sdk.got(terminal.wait())
    assert await sdk.got(sandbox.pty.kill(terminal.pid)) is False


async def test_git(sdk: Sdk, sandbox: Any) -> None:
    git = sandbox.git
    await sdk.got(git.init("/home/user/repo", initial_branch="main"))
    await sdk.got(sandbox.files.write("/home/user/repo/a.txt", "a"))
    await sdk.got(git.configure_user("A", "a@example.com", path="/home/user/repo", scope="local"))
    await sdk.got(git.add("/home/user/repo"))
    await sdk.got(git.commit("/home/user/repo", "first"))
    status = await sdk.got(git.status("/home/user/repo"))
    assert (status.current_branch, status.is_clean) == ("main", True)
    await sdk.got(git.clone("/home/user/repo", "/home/user/copy"))
    assert await sdk.got(sandbox.files.read("/home/user/copy/a.txt")) == "a"
