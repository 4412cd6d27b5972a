"""Processes: started once, followed by any number of readers, none of which they depend on.

Owns: the table of started processes, their output rings, their signals, and the reaping of every child of PID 1.
A file per verb of `process.Process` (`start attach input signal list`); below them `process.py` (one process),
`ring.py` (its output), `spawn.py` (the system calls), `table.py` (all of them), `tree.py` (descendants).
May import: the package's root modules, never `files`. Start reading in `process.py`.
"""
