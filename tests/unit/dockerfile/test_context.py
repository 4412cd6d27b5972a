"""Which files a build takes, and that the same files make the same archive."""

from __future__ import annotations

import os
import socket
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.dockerfile.archives import Packing
from roost.dockerfile.context import Packed, pack
from roost.dockerfile.parsing import parse
from roost.dockerfile.tree import Tree, read_ignore
from roost.domain.build import Copy, FromContext
from roost.domain.build_errors import (
    ContextChanged,
    ContextTooLarge,
    IgnoreFileInvalid,
    SourceNotFound,
    StepInvalid,
    StepUnsupported,
)


class Context:
    def __init__(self, path: Path) -> None:
        self.root = path / "context"
        self.into = path / "archives"
        self.root.mkdir()
        self.into.mkdir()

    def write(self, *names: str, content: str = "x") -> None:
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def link(self, name: str, target: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def pack(
        self,
        *lines: str,
        ignore: str = "",
        base: str = "scratch",
        largest_bytes: int = 10**6,
        arguments: Mapping[str, str] | None = None,
    ) -> Packed:
        if ignore:
            self.write(".dockerignore", content=ignore)
        definition = parse("\n".join((f"FROM {base}", *lines)) + "\n", arguments=arguments or {})
        tree = Tree(self.root, read_ignore(self.root))
        return pack(definition, tree, self.into, largest_bytes=largest_bytes)

    def names(self, *lines: str, ignore: str = "", base: str = "scratch", **arguments: str) -> list[str]:
        """What the one archive of these lines holds; directories end with a "/", links name their target."""
        packed = self.pack(*lines, ignore=ignore, base=base, arguments=arguments)
        (archive,) = packed.archives
        return list(listed(archive.path))


def listed(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {
            member.name + ("/" if member.isdir() else f" -> {member.linkname}" if member.issym() else ""): member
            for member in tar
        }


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path)


# Which files


def test_only_what_is_copied_goes_along(context: Context) -> None:
    context.write("app/main.py", "app/lib/a.py", "other/b.py", "setup.py")
    assert context.names("COPY app /x") == ["app/", "app/lib/", "app/lib/a.py", "app/main.py"]
    assert context.names("COPY app/lib/a.py setup.py /x/") == ["app/", "app/lib/", "app/lib/a.py", "setup.py"]
    assert context.names("COPY . /x") == [
        *("app/", "app/lib/", "app/lib/a.py", "app/main.py"),
        *("other/", "other/b.py", "setup.py"),
    ]


def test_patterns_are_gos(context: Context) -> None:
    context.write("a.py", "b.py", "b.txt", "src/c.py", "src/d/e.py")
    assert context.names("COPY *.py /x/") == ["a.py", "b.py"]
    assert context.names("COPY */*.py /x/") == ["src/", "src/c.py"]
    assert context.names("COPY [^a].py s?c /x/") == ["b.py", "src/", "src/c.py", "src/d/", "src/d/e.py"]


def test_a_pattern_may_fit_nothing_and_a_name_may_not(context: Context) -> None:
    context.write("package.json")
    packed = context.pack("COPY package.json yarn.lock* /x/")
    (step,) = packed.definition.stages[0].steps
    assert isinstance(step, Copy) and step.sources == ("package.json",)
    assert step.origin == FromContext(packed.archives[0].digest)
    with pytest.raises(SourceNotFound, match=r"Line 2, `COPY gone /x/`: gone is not in the context"):
        context.pack("COPY gone /x/")
    packed = context.pack("COPY gone* /x/", "ENV A=1")
    assert packed.archives == () and len(packed.definition.stages[0].steps) == 1
    assert packed.definition.notes == ("Line 2: no file fits any of its patterns, nothing is copied.",)


def test_what_is_ignored_is_not_there(context: Context) -> None:
    context.write("a.py", ".git/config", "node_modules/x/y.js", "src/a.py", "src/a.pyc", "src/keep/b.pyc")
    ignore = ".git\nnode_modules/\n**/*.pyc\n!src/keep/*.pyc\n.dockerignore\n"
    assert context.names("COPY . /x", ignore=ignore) == ["a.py", "src/", "src/a.py", "src/keep/", "src/keep/b.pyc"]
    with pytest.raises(SourceNotFound, match=r"node_modules is left out by \.dockerignore"):
        context.pack("COPY node_modules /x")


def test_a_directory_comes_along_for_an_exception_in_it(context: Context) -> None:
    context.write("a/b/c.txt", "a/b/d.txt", "e/f.txt")
    assert context.names("COPY . /x", ignore="*\n!a/b/c.txt") == ["a/", "a/b/", "a/b/c.txt"]
    assert context.names("COPY a /x") == ["a/", "a/b/", "a/b/c.txt"]


def test_a_dockerfile_may_have_its_own_ignore_file(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text("a")
    (tmp_path / "prod.Dockerfile.dockerignore").write_text("b\n!c")
    assert read_ignore(tmp_path) == ("a",)
    assert read_ignore(tmp_path, tmp_path / "Dockerfile") == ("a",)
    assert read_ignore(tmp_path, tmp_path / "prod.Dockerfile") == ("b", "!c")
    (tmp_path / ".dockerignore").write_text("[")
    with pytest.raises(IgnoreFileInvalid, match=r"\.dockerignore cannot be read: a `\[…\]` of `\[` is not complete"):
        read_ignore(tmp_path)


def test_excludes_are_below_what_is_copied(context: Context) -> None:
    context.write("src/a.py", "src/a.md", "src/d/b.md", "home.txt", "home.png")
    assert context.names("COPY --exclude=*.md src /x") == ["src/", "src/a.py", "src/d/", "src/d/b.md"]
    assert context.names("COPY --exclude=**/*.md src /x") == ["src/", "src/a.py", "src/d/"]
    assert context.names("COPY --exclude=*.txt home* /x/") == ["home.png"]


def test_parents_reach_any_depth(context: Context) -> None:
    context.write("x/y/a.txt", "x/y/z/b.txt", "x/y/c.md")
    assert context.names("COPY --parents x/./y/*.txt /p/") == ["x/", "x/y/", "x/y/a.txt"]
    assert context.names("COPY --parents x/**/*.txt /p/") == ["x/", "x/y/", "x/y/a.txt", "x/y/z/", "x/y/z/b.txt"]


def test_variables_of_the_file_are_known(context: Context) -> None:
    context.write("one/a", "two/b")
    lines = ("ARG D=one", "ENV E=$D", "COPY ${E} $UNKNOWN/x/")
    assert context.names(*lines, base="debian") == ["one/", "one/a"]
    assert context.names(*lines, base="debian", D="two") == ["two/", "two/b"]


def test_what_only_the_base_knows_takes_everything(context: Context) -> None:
    context.write("one/a", "two/b")
    assert context.names("COPY $FROM_THE_IMAGE /x/", base="debian") == ["one/", "one/a", "two/", "two/b"]
    assert context.names("COPY $FROM_THE_IMAGE /x/", base="scratch") == ["one/", "one/a", "two/", "two/b"]  # "" is "."


def test_a_stage_that_nobody_needs_takes_nothing(context: Context) -> None:
    context.write("a", "b")
    packed = context.pack("COPY a /", "FROM scratch", "COPY b /")
    assert [list(listed(archive.path)) for archive in packed.archives] == [["b"]]


def test_equal_files_are_one_archive(context: Context) -> None:
    context.write("a", "b")
    packed = context.pack("COPY a /1", "COPY a /2", "COPY b /3")
    assert len(packed.archives) == 2
    assert [step.origin.upload for step in packed.definition.stages[0].steps] == [  # pyright: ignore[reportAttributeAccessIssue]
        packed.archives[0].digest,
        packed.archives[0].digest,
        packed.archives[1].digest,
    ]


def test_a_wrong_pattern_names_its_line(context: Context) -> None:
    context.write("a")
    for line in ("COPY [a /x", "COPY --exclude=[ a /x"):
        with pytest.raises(StepInvalid, match="Line 2"):
            context.pack(line)


# Links


def test_links_inside_are_kept(context: Context) -> None:
    context.write("d/a")
    context.link("d/b", "a")
    context.link("d/c", "/etc/passwd")
    context.link("d/e", "../../../outside")
    assert context.names("COPY d /x") == ["d/", "d/a", "d/b -> a", "d/c -> /etc/passwd", "d/e -> ../../../outside"]


def test_a_link_that_is_copied_itself_is_what_it_names(context: Context) -> None:
    context.write("real/a", content="inside")
    context.link("file", "real/a")
    context.link("folder", "./real")
    context.link("rooted", "/real/a")
    assert context.names("COPY file folder rooted /x/") == ["file", "folder/", "folder/a", "rooted"]
    assert context.names("COPY folder/a /x/") == ["folder/", "folder/a"]
    assert context.names("COPY fold*/a /x/") == ["folder/", "folder/a"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "../../secret", "loop", "gone"])
def test_no_link_leads_out(context: Context, target: str) -> None:
    (context.root.parent / "secret").write_text("secret")
    context.write("a")
    context.link("loop", target)
    with pytest.raises(SourceNotFound):
        context.pack("COPY loop /x")
    with pytest.raises(SourceNotFound):
        context.pack("COPY a/../loop /x")


def test_nothing_above_the_context_is_copied(context: Context) -> None:
    (context.root.parent / "secret").write_text("secret")
    context.write("a")
    with pytest.raises(SourceNotFound, match="nothing above it can be copied"):
        context.pack("COPY ../secret /x")


def test_a_link_to_what_is_ignored_finds_nothing(context: Context) -> None:
    context.write("private/a")
    context.link("door", "private/a")
    with pytest.raises(SourceNotFound):
        context.pack("COPY door /x", ignore="private")
    with pytest.raises(SourceNotFound):
        context.pack("COPY door /x", ignore="door")


def test_a_file_that_becomes_a_link_is_not_followed(context: Context, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")  # as long as what it replaces
    context.write("a", "b")
    definition = parse("FROM scratch\nCOPY a b /x/\n", arguments={})

    def swap(_: Packing) -> None:
        (context.root / "b").unlink(missing_ok=True)
        if not (context.root / "b").is_symlink():
            (context.root / "b").symlink_to(tmp_path / "secret")

    with pytest.raises(ContextChanged, match=r"^b could not be taken"):
        pack(definition, Tree(context.root), context.into, tell=swap)


# Archives


def test_an_archive_says_nothing_of_times_and_owners(context: Context) -> None:
    context.write("d/a", "d/b")
    (context.root / "d/a").chmod(0o640)
    (first,) = context.pack("COPY d /x").archives
    os.utime(context.root / "d/a", (1, 1))
    os.utime(context.root / "d", (1, 1))
    if os.geteuid() == 0:
        os.chown(context.root / "d/b", 12345, 12345)
    (second,) = context.pack("COPY d /x").archives
    assert first.digest == second.digest
    member = listed(second.path)["d/a"]
    assert (member.mode, member.uid, member.gid, member.uname, member.mtime) == (0o640, 0, 0, "", 946_684_800)


@pytest.mark.parametrize("change", ["content", "mode", "name", "link", "kind"])
def test_another_file_is_another_archive(context: Context, change: str) -> None:
    context.write("d/a")
    context.link("d/l", "a")
    (first,) = context.pack("COPY d /x").archives
    path = context.root / "d/a"
    match change:
        case "content":
            path.write_text("y")
        case "mode":
            path.chmod(0o755)
        case "name":
            path.rename(context.root / "d/b")
        case "link":
            (context.root / "d/l").unlink()
            context.link("d/l", "b")
        case _:
            path.unlink()
            path.mkdir()
    (second,) = context.pack("COPY d /x").archives
    assert first.digest != second.digest


def test_only_the_step_changes_whose_files_do(context: Context) -> None:
    context.write("a", "b")
    before = context.pack("COPY a /a", "COPY b /b").definition.stages[0].steps
    context.write("b", content="changed")
    after = context.pack("COPY a /a", "COPY b /b").definition.stages[0].steps
    assert before[0] == after[0] and before[1] != after[1]


def test_long_and_strange_names_are_kept(context: Context) -> None:
    names = ["é ü/ß", "d" * 120 + "/" + "f" * 200, "new\nline", os.fsdecode(b"not-utf8-\xff")]
    context.write(*names)
    assert set(names) <= set(context.names("COPY . /x"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(names=st.sets(st.text(alphabet="ab.-é", min_size=1, max_size=5).filter(lambda n: n not in (".", "..")), min_size=1))
def test_the_order_of_making_does_not_count(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    digests: set[str] = set()
    for order in (sorted(names), sorted(names, reverse=True)):
        context = Context(tmp_path_factory.mktemp("order"))
        context.write(*order)
        digests |= {archive.digest for archive in context.pack("COPY . /x").archives}
    assert len(digests) == 1


def test_a_context_has_a_limit_and_nothing_is_written_before_it_is_known(context: Context) -> None:
    context.write("big/a", "big/b", content="x" * 600)
    context.write("small")
    with pytest.raises(ContextTooLarge, match=r"Most is in big, small: leave out what is not needed with \.dockerignore"):
        context.pack("COPY . /x", largest_bytes=1000)
    assert list(context.into.iterdir()) == []


def test_progress_is_told(context: Context) -> None:
    context.write("a", "b", content="x" * 100)
    told: list[Packing] = []
    definition = parse("FROM scratch\nCOPY . /x\n", arguments={})
    pack(definition, Tree(context.root), context.into, tell=told.append)
    assert told[-1] == Packing(2, 200, 200)
    assert [each.size_bytes for each in told] == sorted(each.size_bytes for each in told)


def test_a_file_that_shrinks_or_grows_is_said(context: Context) -> None:
    for size in (10, 1000):
        context.write("a", "b", content="x" * 100)
        definition = parse("FROM scratch\nCOPY a b /x/\n", arguments={})

        def change(told: Packing, size: int = size) -> None:
            if told.files:
                context.write("b", content="y" * size)

        with pytest.raises(ContextChanged, match=r"^b could not be taken"):
            pack(definition, Tree(context.root), context.into, tell=change)


def test_sockets_stay_behind_and_pipes_are_refused(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    context.write("d/a")
    monkeypatch.chdir(context.root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("d/socket")
        assert context.names("COPY d /x") == ["d/", "d/a"]
    os.mkfifo(context.root / "d/pipe")
    with pytest.raises(StepUnsupported, match="d/pipe"):
        context.pack("COPY d /x")
