"""What the sandbox is doing: `/metrics`, `/envs`, and the node's `/roost/activity` and `/roost/processes`.

Reads /proc and changes nothing. May import: the package's root modules and `processes.table`.
Start reading in `activity.py`.
"""
