"""The companion: a process beside the agent that holds the connection to the X server and makes the pictures.

Runs on the guest's own Python (3.10 or newer) with python-xlib and Pillow, as the sandbox's default user. Reads messages from
stdin, answers on stdout (`desktop/wire.py`), and ends when stdin does. It does nothing unless it is asked.

May import: the standard library, Xlib, PIL, `desktop.wire` and itself. What needs neither X nor a picture is pure and in
files of its own: `chords.py`, `strokes.py`, `scale.py`.

Start reading in `serve.py`.
"""
