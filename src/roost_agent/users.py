"""Who runs things inside: names to ids, homes and groups, read once and again when the files change."""

from __future__ import annotations

import grp
import os
import pwd

_SOURCES = ("/etc/passwd", "/etc/group")


class User:
    __slots__ = ("gid", "groups", "home", "name", "shell", "uid")

    def __init__(self, entry: pwd.struct_passwd, groups: tuple[int, ...]) -> None:
        self.name = entry.pw_name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
        self.home = entry.pw_dir or "/"
        self.shell = entry.pw_shell or "/bin/sh"
        self.groups = groups


class UnknownUser(Exception):
    """No such user here, or one this agent may not act for."""


class Users:
    """A cache over the user database: a lookup costs two stats."""

    def __init__(self) -> None:
        self._stamp: tuple[object, ...] = ()
        self._by_name: dict[str, User] = {}
        self._user_names: dict[int, str] = {}
        self._group_names: dict[int, str] = {}
        self.may_switch = os.geteuid() == 0

    def find(self, name: str) -> User:
        """By name or number, with a group if it is to be another than the user's own: "ada", "1000", "ada:staff", "1000:1000".
        A number needs no entry anywhere. Raises UnknownUser."""
        self._refresh()
        user = self._by_name.get(name)
        if user is None:
            try:
                user = self._by_name[name] = _look_up(name)
            except (KeyError, ValueError, UnicodeError, OSError) as error:
                raise UnknownUser(name) from error
        if not self.may_switch and user.uid != os.geteuid():
            raise UnknownUser(name)
        return user

    def default(self, wanted: str) -> User:
        """The first of: the sandbox's default user, `user`, whoever runs the agent."""
        for name in (wanted, "user"):
            if name:
                try:
                    return self.find(name)
                except UnknownUser:
                    continue
        return self.current()

    def current(self) -> User:
        uid = os.geteuid()
        try:
            return self.find(pwd.getpwuid(uid).pw_name)
        except (KeyError, UnknownUser):
            fields = ("root" if uid == 0 else str(uid), "", uid, os.getegid(), "", os.environ.get("HOME", "/"), "/bin/sh")
            return User(pwd.struct_passwd(fields), tuple(os.getgroups()))

    def user_name(self, uid: int) -> str:
        self._refresh()
        name = self._user_names.get(uid)
        if name is None:
            try:
                name = pwd.getpwuid(uid).pw_name
            except KeyError:
                name = str(uid)
            self._user_names[uid] = name
        return name

    def group_name(self, gid: int) -> str:
        self._refresh()
        name = self._group_names.get(gid)
        if name is None:
            try:
                name = grp.getgrgid(gid).gr_name
            except KeyError:
                name = str(gid)
            self._group_names[gid] = name
        return name

    def _refresh(self) -> None:
        stamp: list[object] = []
        for path in _SOURCES:
            try:
                status = os.stat(path)
                stamp.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                stamp.append(None)
        if tuple(stamp) != self._stamp:
            self._stamp = tuple(stamp)
            self._by_name.clear()
            self._user_names.clear()
            self._group_names.clear()


def _look_up(text: str) -> User:
    """Raises KeyError, ValueError, OSError."""
    name, colon, group = text.partition(":")
    entry = _entry(name)
    groups: tuple[int, ...] = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)) if entry.pw_name else (entry.pw_gid,)
    user = User(entry, groups)
    if colon:
        user.gid = _number(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
        user.groups = (user.gid,)
    if not user.name:
        user.name = str(user.uid)
    return user


def _entry(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(_number(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        if name == "root":  # an image need not have a list of users
            return pwd.struct_passwd(("root", "", 0, 0, "", "/root" if os.path.isdir("/root") else "/", ""))
        if not name.isdecimal():
            raise
        return pwd.struct_passwd(("", "", _number(name), 0, "", "/", ""))


def _number(text: str) -> int:
    number = int(text)
    if number >= 2**32 - 1:
        raise ValueError(text)
    return number
