"""The sandbox's screen, keyboard, mouse, clipboard and windows, for an agent that uses them through HTTP.

Pictures need Pillow and X needs python-xlib, and the agent's own interpreter has neither. So a companion does the work: a
process on the guest's own Python, as the sandbox's default user, started at the first call and kept. It holds one
connection to the X server; like everything else inside, it goes through sleeps and forks.

Owns: the routes below `/desktop` (a file per noun), the companion's life (`link.py`) and the messages between the two
(`wire.py`). The companion's code is in `companion/`; nothing there is imported by the agent.

Start reading in `routes.py`, then `link.py`.
"""
