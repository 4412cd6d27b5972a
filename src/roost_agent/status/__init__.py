"""What the sandbox is doing: `/metrics`, `/envs`, `/processes`, `/ports`, `/history` and `/tail`.

Reads /proc and what `processes` keeps, and changes nothing. Costs nothing while nobody asks.
May import: the package's root modules and `processes`. Start reading in `processes.py`.
"""
