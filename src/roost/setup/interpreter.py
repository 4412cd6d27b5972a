"""The agent's own Python: Debian's, trimmed to what the agent can use, so that it runs in any image.

It lives at `/.roost` inside a sandbox, mounted read-only, and is started through its own dynamic loader: nothing of the
image is needed. The interpreter depends on no home and is cached; `agent.py` puts the agent's code beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault, Unsupported
from roost.setup.artefacts import Say, digest_of_tree, discard, exclusive, read_marker, silent, work_folder, write_marker
from roost.setup.commands import CommandFailed, Commands
from roost.setup.mirror import MMDEBSTRAP, Mirror

SUITE = "trixie"
PYTHON = "python3.13"
PACKAGES = ("python3-minimal", "libpython3-stdlib", "libc6", "libgcc-s1", "zlib1g", "libexpat1", "libffi8")
GUEST_ROOT = "/.roost"
# Nothing of the machine's, nothing written; and without docstrings, which would cost every sandbox half a megabyte.
FLAGS = ("-I", "-S", "-B", "-OO", "-X", "utf8")
RECIPE = 1  # raise it when the way the interpreter is made changes

# The agent is a server of files and processes: no TLS (the edge has it), no databases, screens, tests or debuggers.
_LEFT_OUT = """
test unittest doctest.py pydoc.py pydoc_data idlelib tkinter turtle.py turtledemo lib2to3 ensurepip venv
ssl.py sqlite3 dbm curses _pyrepl rlcompleter.py pdb.py bdb.py cmd.py code.py codeop.py xml xmlrpc wsgiref
multiprocessing mailbox.py imaplib.py poplib.py smtplib.py ftplib.py webbrowser.py antigravity.py this.py
wave.py colorsys.py zipapp.py cProfile.py profile.py pstats.py trace.py timeit.py tracemalloc.py
pickletools.py pyclbr.py modulefinder.py tabnanny.py symtable.py shelve.py plistlib.py netrc.py
statistics.py zoneinfo _pydecimal.py _pyio.py _pydatetime.py _pylong.py decimal.py fractions.py
optparse.py sched.py _aix_support.py _android_support.py _apple_support.py _ios_support.py _osx_support.py
nturl2path.py __hello__.py __phello__ EXTERNALLY-MANAGED sitecustomize.py
"""
_EXTENSIONS = "_asyncio _bz2 _contextvars _ctypes _json _lzma _queue _uuid mmap resource termios"
_ENCODINGS = """
__init__ aliases ascii base64_codec charmap cp1252 cp437 hex_codec idna iso8859_1 latin_1 punycode
raw_unicode_escape undefined unicode_escape utf_16 utf_16_be utf_16_le utf_32 utf_8 utf_8_sig zlib_codec
"""
MODULES_LEFT_OUT = tuple(_LEFT_OUT.split())
EXTENSIONS_KEPT = frozenset(_EXTENSIONS.split())
ENCODINGS_KEPT = frozenset(_ENCODINGS.split())


@dataclass(frozen=True, slots=True)
class Machine:
    """What the processor's architecture is called by those who need to know."""

    triple: str
    loader: str


MACHINES = {
    "x86_64": Machine("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
    "aarch64": Machine("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A trimmed Python at `path`; `digest` covers every byte of it."""

    path: Path
    digest: str
    machine: Machine

    def command(self, root: str | None = None) -> list[str]:
        """How it is started when its directory is seen at `root` (its own path unless said otherwise)."""
        top = str(self.path) if root is None else root
        libraries = f"{top}/usr/lib/{self.machine.triple}"
        return [f"{libraries}/{self.machine.loader}", "--library-path", libraries, f"{top}/usr/bin/{PYTHON}", *FLAGS]


def this_machine(name: str | None = None) -> Machine:
    name = name or os.uname().machine
    if name not in MACHINES:
        raise Unsupported(
            "machine_unsupported", f"Roost runs on {' and '.join(MACHINES)} machines; this one is {name}.", machine=name
        )
    return MACHINES[name]


def recipe_digest(machine: Machine) -> str:
    recipe = [
        RECIPE,
        SUITE,
        PYTHON,
        FLAGS,
        PACKAGES,
        MODULES_LEFT_OUT,
        sorted(EXTENSIONS_KEPT),
        sorted(ENCODINGS_KEPT),
        machine.triple,
    ]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]


def find_interpreter(cache: Path) -> Interpreter | None:
    """The finished interpreter, if the cache has it."""
    machine = this_machine()
    path = cache / "interpreter" / recipe_digest(machine)
    facts = read_marker(path / "interpreter.json")
    return Interpreter(path / "root", str(facts["digest"]), machine) if facts else None


def ensure_interpreter(cache: Path, mirror: Mirror, commands: Commands, say: Say = silent) -> Interpreter:
    """The interpreter, made now if the cache lacks it. May be called twice, by two processes at once."""
    found = find_interpreter(cache)
    if found is not None:
        return found
    with exclusive(cache / "locks" / "interpreter", say):
        found = find_interpreter(cache)
        return found or _make(cache, mirror, commands, say)


def _make(cache: Path, mirror: Mirror, commands: Commands, say: Say) -> Interpreter:
    machine = this_machine()
    target = cache / "interpreter" / recipe_digest(machine)
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(cache, "interpreter") as work:
        whole, trimmed = work / "whole", work / "done" / "root"
        packages = f"--include={','.join(PACKAGES)}"
        command = [*MMDEBSTRAP, "--variant=extract", packages, SUITE, str(whole), *mirror.lines(SUITE)]
        try:
            commands.run(command, env={"TMPDIR": str(work)}, name="mmdebstrap", on_line=say)
        except CommandFailed as error:
            raise Fault(
                "interpreter_failed",
                f"The agent's interpreter could not be made from {mirror.archive}. {error.message}\n"
                "Check that the mirror is reachable (`mirror` in roost.toml names another), then run the command again.",
                mirror=mirror.archive,
            ) from error
        say("trimming")
        _trim(whole, trimmed, machine)
        made = Interpreter(trimmed, "", machine)
        _keep_needed_libraries(whole, trimmed, made, commands)
        say("compiling")
        compile_tree(made, trimmed / "usr" / "lib" / PYTHON, trimmed, commands)
        digest = digest_of_tree(trimmed)
        write_marker(work / "done" / "interpreter.json", {"digest": digest, "python": PYTHON, "suite": SUITE})
        discard(target)
        (work / "done").replace(target)
    return Interpreter(target / "root", digest, machine)


def _trim(whole: Path, trimmed: Path, machine: Machine) -> None:
    """Copy only what is kept: the binary and the part of the standard library that the agent can use."""
    library = trimmed / "usr" / "lib" / PYTHON
    (trimmed / "usr" / "bin").mkdir(parents=True)
    shutil.copy2(whole / "usr" / "bin" / PYTHON, trimmed / "usr" / "bin" / PYTHON)
    # The name of the build-time configuration holds the architecture: matched, not listed.
    left_out = shutil.ignore_patterns(*MODULES_LEFT_OUT, "__pycache__", "_sysconfigdata*", "config-*", "idle_test")
    shutil.copytree(whole / "usr" / "lib" / PYTHON, library, symlinks=True, ignore=left_out)
    for extension in (library / "lib-dynload").iterdir():
        if extension.name.partition(".")[0] not in EXTENSIONS_KEPT:
            extension.unlink()
    for codec in (library / "encodings").glob("*.py"):
        if codec.stem not in ENCODINGS_KEPT:
            codec.unlink()
    libraries = trimmed / "usr" / "lib" / machine.triple
    libraries.mkdir()
    shutil.copy2(whole / "usr" / "lib" / machine.triple / machine.loader, libraries / machine.loader)


def _keep_needed_libraries(whole: Path, trimmed: Path, made: Interpreter, commands: Commands) -> None:
    """Copy the shared libraries that the binary and the kept extensions ask for; the loader itself says which."""
    source = whole / "usr" / "lib" / made.machine.triple
    target = trimmed / "usr" / "lib" / made.machine.triple
    binaries = [
        trimmed / "usr" / "bin" / PYTHON,
        *sorted((trimmed / "usr" / "lib" / PYTHON / "lib-dynload").glob("*.so")),
    ]
    needed = {"libgcc_s.so.1"}  # libc opens it by name when a thread is cancelled
    for binary in binaries:
        listing = commands.run([source / made.machine.loader, "--library-path", source, "--list", binary])
        needed.update(Path(line.split()[0]).name for line in listing.splitlines() if f"=> {source}/" in line)
    for name in sorted(needed):
        if not (target / name).exists():
            shutil.copy2((source / name).resolve(), target / name)


def compile_tree(interpreter: Interpreter, tree: Path, top: Path, commands: Commands, levels: Sequence[str] = ("2",)) -> None:
    """Byte-compile `tree` with the interpreter itself. Sources are never checked again: nothing there ever changes.

    `top` is the directory that will be seen as `/.roost`, so that tracebacks name files as the guest sees them. `levels` are the
    optimizations of the Pythons that run it; the interpreter's own unless said otherwise.
    """
    options = ["-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", str(top), "-p", GUEST_ROOT]
    options += [word for level in levels for word in ("-o", level)]
    plain = [word for word in interpreter.command() if word != "-OO"]  # under which compileall names every level's file alike
    commands.run([*plain, "-m", "compileall", *options, str(tree)])
