"""Archives that arrive for builds: what is kept, what is refused, and what a copy takes of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from roost.domain.build_failures import NothingToCopy, StepFailed, UploadBroken, UploadDiffers, UploadNotFound, UploadTooLarge
from roost.domain.errors import Conflict
from roost.domain.node_builds import Selection
from roost.node.storage.uploads import Uploads, packed

LIMIT_BYTES = 1 << 20


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path, limit_bytes=LIMIT_BYTES)


def tar(*members: tarfile.TarInfo | tuple[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1].encode()))
    return made.getvalue()


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def put(uploads: Uploads, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    uploads.append("s1", 0, content)
    uploads.finish("s1", digest)
    return digest


def names(uploads: Uploads, digest: str, *sources: str, **more: object) -> dict[str, str]:
    archive, selected, members = uploads.select(digest, Selection(sources, **more))  # type: ignore[arg-type]
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(b"".join(packed(archive, selected, members)))) as copied:
        for member in copied:
            content = copied.extractfile(member) if member.isreg() else None
            found[member.name] = content.read().decode() if content else member.linkname or "/"
    return found


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "uploads").iterdir())


CONTENT = tar(
    special("app", tarfile.DIRTYPE), ("app/main.py", "main"), ("app/lib/x.py", "x"), ("app/lib/y.txt", "y"), ("top", "t")
)


def test_what_a_copy_takes_is_named_from_the_source_on(uploads: Uploads) -> None:
    digest = put(uploads, CONTENT)
    assert names(uploads, digest, "top") == {"top": "t"}
    assert names(uploads, digest, "app") == {".": "/", "./main.py": "main", "./lib/x.py": "x", "./lib/y.txt": "y"}
    assert names(uploads, digest, "app/*.py", "top") == {"main.py": "main", "top": "t"}
    assert names(uploads, digest, "app/lib/?.[pt]*") == {"x.py": "x", "y.txt": "y"}
    assert names(uploads, digest, "", exclude=("**/*.txt", "top")).keys() == {"./app", "./app/main.py", "./app/lib/x.py"}
    assert names(uploads, digest, "app/lib", keeps_parents=True) == {"./app/lib/x.py": "x", "./app/lib/y.txt": "y"}
    with pytest.raises(NothingToCopy):
        names(uploads, digest, "app", "none")


@pytest.mark.timeout(10)
def test_a_hostile_pattern_takes_no_longer_than_others(uploads: Uploads) -> None:
    digest = put(uploads, tar(("/".join("a" * 40), "deep"), ("a" * 200, "long")))
    with pytest.raises(NothingToCopy):
        names(uploads, digest, "**/a/" * 12 + "b")
    with pytest.raises(NothingToCopy):
        names(uploads, digest, "a*" * 50 + "b")
    with pytest.raises(StepFailed):
        names(uploads, digest, "[a")


def test_a_link_whose_file_is_not_taken_becomes_the_file(uploads: Uploads) -> None:
    digest = put(uploads, tar(("a", "content"), special("b", tarfile.LNKTYPE, "a"), special("c", tarfile.SYMTYPE, "../x")))
    assert names(uploads, digest, "b", "c") == {"b": "content", "c": "../x"}
    assert names(uploads, digest, "")["./b"] == "./a"


def test_the_same_files_have_the_same_digest(uploads: Uploads) -> None:
    later = tarfile.TarInfo("top")
    later.mtime, later.size = 5_000, 0
    first, second = put(uploads, tar(("top", ""), ("other", "1"))), put(uploads, tar(later, ("other", "2")))
    digests = [uploads.digest_files(each, Selection(("top",))) for each in (first, second)]
    assert digests[0] == digests[1]
    assert uploads.digest_files(first, Selection(("",))) != uploads.digest_files(second, Selection(("",)))


def test_a_gzipped_one_is_kept_plain(uploads: Uploads) -> None:
    digest = put(uploads, gzip.compress(CONTENT))
    assert names(uploads, digest, "top") == {"top": "t"}


@pytest.mark.parametrize(
    "content",
    [
        tar(("../out", "x")),
        tar(("a/../../out", "x")),
        tar(special("device", tarfile.CHRTYPE)),
        tar(special("link", tarfile.LNKTYPE, "../../etc/passwd")),
        tar(("a", "x"))[:600],
        b"no archive at all" * 100,
        gzip.compress(tar(("a", "x")))[:40],
    ],
    ids=["above", "above by a detour", "device", "link to above", "cut off", "nonsense", "cut gzip"],
)
def test_what_is_no_plain_archive_is_refused_and_leaves_nothing(uploads: Uploads, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UploadBroken):
        put(uploads, content)
    assert left(tmp_path) == []


def test_a_header_that_claims_gigabytes_costs_nothing(uploads: Uploads, tmp_path: Path) -> None:
    head = tarfile.TarInfo("././@PaxHeader")
    head.type, head.size = tarfile.XHDTYPE, 8 << 30
    content = head.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    with pytest.raises(UploadBroken):
        put(uploads, content)
    assert left(tmp_path) == []


def test_a_bomb_is_refused(uploads: Uploads, tmp_path: Path) -> None:
    with pytest.raises(UploadTooLarge):
        put(uploads, gzip.compress(tar(("zeros", "\0" * (2 * LIMIT_BYTES)))))
    assert left(tmp_path) == []


def test_pieces_come_in_order_and_within_the_limit(uploads: Uploads, tmp_path: Path) -> None:
    uploads.append("s1", 0, b"one")
    with pytest.raises(Conflict):
        uploads.append("s1", 5, b"three")
    with pytest.raises(UploadTooLarge):
        uploads.append("s1", 3, bytes(LIMIT_BYTES))
    assert left(tmp_path) == []
    uploads.append("s1", 0, b"one")
    with pytest.raises(UploadDiffers):
        uploads.finish("s1", "0" * 64)
    assert left(tmp_path) == []


@pytest.mark.parametrize("digest", ["../../etc/passwd", "0" * 63, "", "A" * 64])
def test_what_is_no_digest_names_no_file(uploads: Uploads, digest: str) -> None:
    with pytest.raises(UploadNotFound):
        uploads.digest_files(digest, Selection(("",)))
    with pytest.raises(UploadNotFound):
        uploads.delete(digest)


def test_what_a_dead_server_was_receiving_is_swept(uploads: Uploads, tmp_path: Path) -> None:
    digest = put(uploads, CONTENT)
    uploads.append("s2", 0, b"half")
    uploads.sweep()
    assert left(tmp_path) == [f"{digest}.json", f"{digest}.tar"]
    uploads.delete(digest)
    assert left(tmp_path) == []
