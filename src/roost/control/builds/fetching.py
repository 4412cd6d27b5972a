"""ADD of an address: a script that fetches it inside the builder, with what the image has, under the sandbox's own rules."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urlsplit

from roost.domain.build_actions import FetchFile

_FILE = r"""
set -e
url=$1 target=$2 name=$3 checksum=$4 owner=$5 mode=$6
case $target in */) target=$target$name ;; *) [ ! -d "$target" ] || target=$target/$name ;; esac
mkdir -p "$(dirname "$target")"
part=$target.roost-part
trap 'rm -f "$part"' EXIT
if command -v curl >/dev/null; then curl -fsSL -o "$part" "$url"
elif command -v wget >/dev/null; then wget -q -O "$part" "$url"
elif command -v python3 >/dev/null; then
  python3 -c 'import shutil, sys, urllib.request as u
shutil.copyfileobj(u.urlopen(sys.argv[1]), open(sys.argv[2], "wb"))' "$url" "$part"
else echo "The image has neither curl nor wget nor python3 to fetch $url with." >&2; exit 127; fi
if [ -n "$checksum" ]; then
  found=$(sha256sum "$part"); found=sha256:${found%% *}
  [ "$found" = "$checksum" ] || { echo "$url is $found, not $checksum." >&2; exit 1; }
fi
chmod "$mode" "$part"
[ -z "$owner" ] || chown "$owner" "$part"
mv -f "$part" "$target"
"""

_REPOSITORY = r"""
set -e
url=$1 ref=$2 folder=$3 target=$4 checksum=$5 owner=$6 mode=$7 keeps=$8
command -v git >/dev/null || { echo "The image has no git to fetch $url with." >&2; exit 127; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$url" "$work/repository"
cd "$work/repository"
[ -z "$ref" ] || git checkout -q "$ref" --
case $(git rev-parse HEAD) in "$checksum"*) ;; *) echo "$url is at $(git rev-parse HEAD), not $checksum." >&2; exit 1 ;; esac
[ -n "$keeps" ] || rm -rf .git
cd "./$folder"
[ -z "$mode" ] || chmod -R "$mode" .
[ -z "$owner" ] || chown -R "$owner" .
mkdir -p "$target"
cp -a . "$target"
"""


def fetch_words(action: FetchFile) -> tuple[str, ...]:
    """The command that fetches it."""
    mode = f"{action.mode:o}" if isinstance(action.mode, int) else action.mode or ""
    address, _, fragment = action.url.partition("#")
    path = urlsplit(address).path
    if address.startswith("git://") or path.endswith(".git"):
        ref, _, folder = fragment.partition(":")
        keeps = "yes" if action.keeps_git_dir else ""
        words = (address, ref, folder, action.target, action.checksum, action.owner, mode, keeps)
        return ("/bin/sh", "-c", _REPOSITORY, "add", *words)
    name = posixpath.basename(unquote(path)) or "index"
    # As Docker has it: what comes from the network is its owner's alone.
    return ("/bin/sh", "-c", _FILE, "add", action.url, action.target, name, action.checksum, action.owner, mode or "600")
