"""Sets Roost up from the bundle that this file lies in: proves every file, installs the wheels into an environment of their own,
then lets `roost setup --from` do the rest. Run by `install`, with nothing but Python's standard library.

    PREFIX/VERSION       the environment; PREFIX/current leads to it
    BIN/roost            leads to PREFIX/current
    ROOST_CACHE          engine, interpreter, root filesystems
    ROOST_HOME           settings, key, volume
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Refused(Exception):
    """Told to the person as it is."""


def say(text: str) -> None:
    print(f"install: {text}", file=sys.stderr, flush=True)


def verify(folder: Path) -> int:
    """Every file that is listed is there and unchanged. Returns how many there are."""
    problems: list[str] = []
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        digest, _, name = line.partition("  ")
        if not (folder / name).is_file():
            problems.append(f"{name} is missing")
        elif _sha256(folder / name) != digest:
            problems.append(f"{name} is not what was packed")
    if problems:
        raise Refused("the bundle is damaged: " + "; ".join(problems) + ". Copy and unpack it again.")
    return len(lines)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_fit(contents: dict) -> None:
    """The bundle is for this kind of machine and for this Python."""
    if platform.machine() != contents["machine"]:
        raise Refused(f"the bundle is for {contents['machine']} machines; this one is {platform.machine()}.")
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if ours not in contents["pythons"]:
        names = " or ".join(contents["pythons"])
        raise Refused(
            f"the bundle is for Python {names}; this is {ours} ({sys.executable}). Name another with PYTHON=/path/to/python3,"
            f" or make a bundle with PYTHONS={ours}."
        )


def install_wheels(contents: dict, target: Path) -> None:
    """A new environment each time: what an interrupted run left is gone."""
    if target.exists():
        shutil.rmtree(target)
    venv.EnvBuilder(symlinks=True, with_pip=False).create(target)
    with tempfile.TemporaryDirectory(prefix="roost-install-", dir=target) as work:
        with tarfile.open(HERE / contents["wheels"], "r:xz") as members:
            if hasattr(tarfile, "fully_trusted_filter"):
                members.extraction_filter = tarfile.fully_trusted_filter
            members.extractall(work)
        [pip] = Path(work).glob("pip-*.whl")
        words = [str(target / "bin" / "python"), f"{pip}/pip", "install", "--quiet", "--no-index", f"--find-links={work}"]
        words += ["--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore", str(HERE / contents["roost"])]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        subprocess.run(words, check=True, env={**clean, "PIP_CONFIG_FILE": os.devnull})


def check_start(target: Path) -> None:
    """A library of the machine's that some wheel needs may be missing."""
    words = [str(target / "bin" / "python"), "-c", "import greenlet, uvloop; import roost.serving.control, roost.serving.node"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["no reason was given"]
        library = next((line for line in reason if "cannot open shared object file" in line), reason[-1])
        raise Refused(f"Roost does not start with {sys.executable}: {library} (libstdc++ is in the package libstdc++6)")


def link(path: Path, to: str) -> None:
    """In one step: whoever looks finds the old one or the new one."""
    if path.exists() and not path.is_symlink():
        raise Refused(f"{path} is in the way and is no link of Roost's. Move it, or choose another place (--bin, --prefix).")
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    aside.symlink_to(to)
    aside.replace(path)


def install(options: argparse.Namespace) -> None:
    if os.geteuid() != 0:
        raise Refused("Roost needs root. Run the same command with sudo.")
    say(f"proving the bundle: {verify(HERE)} files are as they were packed")
    contents = json.loads((HERE / "bundle.json").read_text())
    check_fit(contents)
    prefix = options.prefix.resolve()
    target = prefix / contents["version"]
    if (target / "bin").is_dir() and (prefix / "current").resolve() == target and _in_use(target):
        raise Refused(f"a server runs from {target}. End it (`roost down`; sandboxes live on), then run this again.")
    say(f"installing Roost {contents['version']} into {target}")
    install_wheels(contents, target)
    check_start(target)
    given = ["--home", str(options.home)] if options.home else []
    done = subprocess.run([str(target / "bin" / "roost"), "setup", "--from", str(HERE), *given], check=False)
    if done.returncode != 0:
        raise Refused("set-up did not get through; see above. Nothing of an older installation was changed.")
    link(prefix / "current", contents["version"])
    link(options.bin / "roost", str(prefix / "current" / "bin" / "roost"))
    home = f" --home {options.home}" if options.home else ""
    say(f"done. `{options.bin / 'roost'} up{home}` serves; `roost install-service{home}` lets systemd do it.")


def _in_use(target: Path) -> bool:
    python = str(target / "bin")
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if words[0].decode(errors="replace").startswith(python) and b"up" in words:
            return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="install", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=Path("/opt/roost"), help="where the program goes (/opt/roost)")
    parser.add_argument("--bin", type=Path, default=Path("/usr/local/bin"), help="where `roost` is linked (/usr/local/bin)")
    parser.add_argument("--home", type=Path, help="as ROOST_HOME: everything of this Roost (/var/lib/roost)")
    try:
        install(parser.parse_args())
    except Refused as refusal:
        say(str(refusal))
        return 1
    except subprocess.CalledProcessError as error:
        say(f"{Path(error.cmd[1]).name} failed with exit code {error.returncode}; see above.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
