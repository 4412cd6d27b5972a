from __future__ import annotations

from pathlib import Path

import pytest

from roost.setup.patches import PatchRefused, apply_patch

BEFORE = "".join(f"line {number}\n" for number in range(1, 21))
PATCH = """Subject: what it is for

--- is not a file, since no file is named yet
diff --git a/deep/file b/deep/file
--- a/deep/file
+++ b/deep/file
@@ -2,3 +2,4 @@ a section
 line 2
-line 3
+line three
+line three and a half
 line 4
@@ -18,3 +19,2 @@
 line 18
-line 19
 line 20
"""


def test_every_hunk_is_applied(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    file.parent.mkdir()
    file.write_text(BEFORE)
    apply_patch(PATCH, tmp_path)
    assert file.read_text() == BEFORE.replace("line 3\n", "line three\nline three and a half\n").replace("line 19\n", "")


@pytest.mark.parametrize(
    ("patch", "before"),
    [
        (PATCH, BEFORE.replace("line 2\n", "another line\n")),
        (PATCH, BEFORE.replace("line 19\n", "another line\n")),
        (PATCH, "too\nshort\n"),
        (PATCH.removesuffix(" line 20\n"), BEFORE),
        ("nothing but words\n", BEFORE),
    ],
    ids=["first hunk", "second hunk", "short file", "hunk cut short", "no file"],
)
def test_what_does_not_fit_changes_nothing(patch: str, before: str, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    file.parent.mkdir()
    file.write_text(before)
    with pytest.raises(PatchRefused):
        apply_patch(patch, tmp_path)
    assert file.read_text() == before
