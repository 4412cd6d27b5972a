"""Runs inside a desktop: a board that covers the screen, writes down what hands do to it, and changes when it is told to.

Its keyboard is grabbed, so it hears every key. A press of a button turns it from dark to light and back.
"""

from __future__ import annotations

SOURCE = """
import json, select, sys
from Xlib import X, XK, display

screen = display.Display(":0")
root = screen.screen().root
size = root.get_geometry()
gc = root.create_gc()
mask = X.ButtonPressMask | X.ButtonReleaseMask | X.PointerMotionMask | X.KeyPressMask | X.ExposureMask
board = root.create_window(0, 0, size.width, size.height, 0, X.CopyFromParent, background_pixel=0x203040,
                           override_redirect=True, event_mask=mask)
board.map()
screen.sync()
while root.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime):
    pass
shades = [0xE0E0E0, 0x203040]
period = None
patch = (0, 0, 0, 0)


def tell(**facts):
    print(json.dumps(facts), flush=True)


def fill(x, y, width, height):
    shades.reverse()
    gc.change(foreground=shades[1])
    board.fill_rectangle(gc, x, y, width, height)
    screen.flush()


tell(kind="ready")
while True:
    ready, _, _ = select.select([screen, sys.stdin], [], [], period)
    if sys.stdin in ready:
        order = json.loads(sys.stdin.readline() or "{}")
        period, patch = order.get("period"), order.get("patch", patch)
        tell(kind="order")
    elif not ready:
        fill(*patch)
    while screen.pending_events():
        event = screen.next_event()
        if event.type in (X.ButtonPress, X.ButtonRelease, X.MotionNotify):
            kind = {X.ButtonPress: "press", X.ButtonRelease: "release", X.MotionNotify: "motion"}[event.type]
            tell(kind=kind, x=event.root_x, y=event.root_y, button=event.detail, state=event.state & 0xFF)
            if event.type == X.ButtonPress and event.detail == 1:
                fill(0, 0, size.width, size.height)
        elif event.type == X.KeyPress:
            tell(kind="key", keysym=screen.keycode_to_keysym(event.detail, 1 if event.state & X.ShiftMask else 0))
"""
