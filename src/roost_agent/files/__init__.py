"""Files: read and written in streams of constant memory, listed, moved, removed, watched.

Owns: the HTTP routes under `/files` (`read write archive compose`), a file per verb of `filesystem.Filesystem`
(`stat list make move remove watch`), and what they share: `entry.py` (how a file is described), `metadata.py`
(extended attributes), `multipart.py`, `inotify.py`. May import: the package's root modules, never `processes`.
Start reading in `entry.py`.
"""
