"""What a viewer of a screen says, in the words of the remote framebuffer protocol (RFC 6143 and its common extensions). Pure.

Follows a client's side of the conversation from its first byte, message by message, and decides of each whether it goes on to
the screen: a person's input only while that person drives, everything else always. What it cannot follow it refuses, since
whatever came after would be read wrongly.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from roost.domain.errors import Invalid

LONGEST_MESSAGE_BYTES = 1 << 20
"""Messages are held until they are whole. Only pasted text is ever long."""

_MOST_KEYS = 256  # that are remembered as down: nobody has more fingers
_HEAD_BYTES = 12  # the version, and enough of any message to tell its length
_VERSIONS = (b"RFB 003.003\n", b"RFB 003.007\n", b"RFB 003.008\n")
_SECURITY_NONE = 1
_SHARED = b"\x01"
_EXTENDED_MOUSE = -316  # pseudo-encoding: pointer events may be a byte longer, which their highest button bit tells
_EXTENDED_POINTER = 0x80
_CLIPBOARD_NOTIFY, _CLIPBOARD_PROVIDE = 1 << 27, 1 << 28  # actions of the extended clipboard that change the screen's

SET_PIXEL_FORMAT = 0
SET_ENCODINGS = 2
UPDATE_REQUEST = 3
KEY = 4
POINTER = 5
CUT_TEXT = 6
CONTINUOUS_UPDATES = 150
FENCE = 248
XVP = 250
SET_DESKTOP_SIZE = 251
GII = 253
QEMU = 255

_PLAIN = {SET_PIXEL_FORMAT: 20, UPDATE_REQUEST: 10, CONTINUOUS_UPDATES: 10}
_INPUT = {KEY: 8, XVP: 4}  # xvp is for shutting the machine down: no less a person's act than a key


class _Phase(Enum):
    VERSION = auto()
    SECURITY = auto()
    INIT = auto()
    MESSAGES = auto()


@dataclass(frozen=True, slots=True)
class Said:
    """What of some bytes goes on to the screen, and whether any of that is a person's input."""

    passed: bytes
    has_input: bool = False
    refusal: str | None = None  # why the conversation ends here


class Viewer:
    """One viewer's side of the conversation, however its bytes are cut into pieces."""

    __slots__ = ("_buffer", "_buttons", "_extended_mouse", "_keys", "_phase", "_place")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._phase = _Phase.VERSION
        self._extended_mouse = False
        self._keys: dict[bytes, bytes] = {}  # that are down on the screen: what names them, and the message that lets them go
        self._buttons = False  # any of the pointer's is down
        self._place = b"\0\0\0\0"  # of the pointer

    def take(self, data: bytes, *, drives: bool) -> Said:
        """The next bytes. What cannot be followed is refused: nothing after it is worth reading."""
        buffer = self._buffer
        buffer += data
        passed = bytearray()
        has_input, at = False, 0
        refusal: str | None = None
        while at < len(buffer):
            try:
                message = self._next(buffer, at)
            except Invalid as error:
                refusal = error.message
                break
            if message is None:
                break
            size, is_input, whole = message
            at += size
            if not is_input:
                passed += whole
            elif drives:
                self._remember(whole)
                passed += whole
                has_input = True
        del buffer[:at]
        return Said(bytes(passed), has_input, refusal)

    def let_go(self) -> bytes:
        """The messages that release every key and button this viewer holds down on the screen."""
        released = b"".join(self._keys.values())
        if self._buttons:
            released += struct.pack(">BB", POINTER, 0) + self._place
        self._keys.clear()
        self._buttons = False
        return released

    def _next(self, buffer: bytearray, at: int) -> tuple[int, bool, bytes] | None:
        """The size of what is next, whether it is input, and itself as it may go on; None while it is not whole."""
        head = bytes(buffer[at : at + _HEAD_BYTES])
        match self._phase:
            case _Phase.VERSION:
                return self._version(head)
            case _Phase.SECURITY:
                if head[0] != _SECURITY_NONE:
                    raise _refused(f"it asks for security type {head[0]}; screens have none but type 1 (the link is the guard)")
                self._phase = _Phase.INIT
                return 1, False, head[:1]
            case _Phase.INIT:
                self._phase = _Phase.MESSAGES
                return 1, False, _SHARED  # a viewer that wants to be alone would throw all others out
            case _Phase.MESSAGES:
                size, is_input = self._measure(head)
                if size > LONGEST_MESSAGE_BYTES:
                    raise _refused(f"it sends a message of {size} bytes; the longest that is taken has {LONGEST_MESSAGE_BYTES}")
                if size == 0 or len(buffer) - at < size:
                    return None
                whole = bytes(buffer[at : at + size])
                if whole[0] == SET_ENCODINGS:
                    self._extended_mouse = _EXTENDED_MOUSE in struct.unpack(f">{(size - 4) // 4}i", whole[4:])
                return size, is_input, whole

    def _version(self, version: bytes) -> tuple[int, bool, bytes] | None:
        if not any(known.startswith(version) for known in _VERSIONS):
            raise _refused("it does not begin with a version of RFB that is known (3.3, 3.7 or 3.8)")
        if len(version) < 12:
            return None
        # In 3.3 the server alone chooses.
        self._phase = _Phase.INIT if version == _VERSIONS[0] else _Phase.SECURITY
        return 12, False, version

    def _measure(self, head: bytes) -> tuple[int, bool]:
        """The size of the message that begins here, and whether it is input; size 0 while its length is not known."""
        kind = head[0]
        if size := _PLAIN.get(kind):
            return size, False
        if size := _INPUT.get(kind):
            return size, True
        if kind == POINTER:
            if len(head) < 2:
                return 0, True
            return (7 if self._extended_mouse and head[1] & _EXTENDED_POINTER else 6), True
        measure = _MEASURES.get(kind)
        if measure is None:
            raise _refused(f"it sends a message of type {kind}, which is not known here")
        needed, read = measure
        return read(head) if len(head) >= needed else (0, False)

    def _remember(self, message: bytes) -> None:
        """What an input message that goes on leaves pressed."""
        kind = message[0]
        if kind == KEY:  # type, down, padding (2), keysym (4)
            self._press(message[4:8], message[1] != 0, struct.pack(">BBH", KEY, 0, 0) + message[4:])
        elif kind == QEMU:  # type, subtype, down (2), keysym (4), keycode (4)
            self._press(message[8:12], message[2:4] != b"\0\0", struct.pack(">BBH", QEMU, 0, 0) + message[4:])
        elif kind == POINTER:  # type, buttons, x (2), y (2), more buttons in an extended one
            low = message[1] & ~_EXTENDED_POINTER if len(message) == 7 else message[1]
            self._buttons = bool(low or message[6:].strip(b"\0"))
            self._place = message[2:6]

    def _press(self, name: bytes, is_down: bool, release: bytes) -> None:
        if not is_down:
            self._keys.pop(release[:1] + name, None)
        elif len(self._keys) < _MOST_KEYS:
            self._keys[release[:1] + name] = release


def _encodings(head: bytes) -> tuple[int, bool]:
    return 4 + 4 * int.from_bytes(head[2:4]), False


def _cut_text(head: bytes) -> tuple[int, bool]:
    length = int.from_bytes(head[4:8], signed=True)
    if length >= 0:
        return 8 + length, True
    if length > -4:
        raise _refused("it sends an extended clipboard message without flags")
    if len(head) < 12:
        return 0, False
    # Asking what the screen's clipboard holds, and saying what one can take, is watching.
    flags = int.from_bytes(head[8:12])
    return 8 - length, bool(flags & (_CLIPBOARD_NOTIFY | _CLIPBOARD_PROVIDE))


def _fence(head: bytes) -> tuple[int, bool]:
    if head[8] > 64:
        raise _refused("it sends a fence that is longer than fences are")
    return 9 + head[8], False


def _desktop_size(head: bytes) -> tuple[int, bool]:
    return 8 + 16 * head[6], True


def _gii(head: bytes) -> tuple[int, bool]:
    """The general input interface: its highest bit tells the byte order, what is left the kind. Events are input, the rest tells
    of devices."""
    order = "big" if head[1] & 0x80 else "little"
    return 4 + int.from_bytes(head[2:4], order), head[1] & 0x7F == 0


def _qemu(head: bytes) -> tuple[int, bool]:
    if head[1] != 0:
        raise _refused(f"it sends a QEMU message of subtype {head[1]}, which is not known here")
    return 12, True


_Measure = Callable[[bytes], tuple[int, bool]]
# By type: so many bytes are needed to tell the length.
_MEASURES: dict[int, tuple[int, _Measure]] = {
    SET_ENCODINGS: (4, _encodings),
    CUT_TEXT: (8, _cut_text),
    FENCE: (9, _fence),
    SET_DESKTOP_SIZE: (8, _desktop_size),
    GII: (4, _gii),
    QEMU: (2, _qemu),
}


def _refused(what: str) -> Invalid:
    return Invalid("rfb_refused", f"This viewer cannot be followed: {what}.")
