"""The first program of a confined process: python -m labkit.camp.inside '<plan as JSON>' command...

It makes the namespaces (unless bubblewrap has), sets the limits, gives up capabilities, files and calls, and becomes
the command. The plan is what confine.py wrote: parent, made, read, write, devices, scratch, scratch_bytes, limits,
landlock, seccomp.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys

from labkit.camp import lockdown

_USER, _NET = 0x10000000, 0x40000000
_NEW = _USER | _NET | 0x00020000 | 0x20000000 | 0x08000000 | 0x04000000  # and mount, pid, ipc, host name
_PRIVATE, _NODEV, _NOSUID, _NOEXEC = 0x44000, 4, 2, 8
INET, INET6, NETLINK, UNIX = 2, 10, 16, 1


def namespaces(plan: dict) -> None:
    """User, mount, pid, network, ipc and host name of its own; goes on in the new pid namespace's child. Scratch
    folder and /dev/shm are memory that vanishes with it.
    """
    _unshare(_NEW)
    child = os.fork()
    if child:
        _wait(child)
    lockdown.die_with_parent(os.getppid())
    lockdown.call("mount", b"none", b"/", None, ctypes.c_ulong(_PRIVATE), None)
    options = f"size={plan['scratch_bytes']},mode=0700".encode()
    for place in (plan["scratch"], "/dev/shm"):
        flags = ctypes.c_ulong(_NODEV | _NOSUID)
        lockdown.call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", flags, options)
    lockdown.call("mount", b"proc", b"/proc", b"proc", ctypes.c_ulong(_NODEV | _NOSUID | _NOEXEC), None)
    loopback()
    worker = os.fork()  # the first process of a pid namespace ignores signals and must collect the orphans
    if worker:
        _collect(worker)


def _unshare(which: int) -> None:
    """Namespaces of its own, in which it is the user that it was."""
    uid, gid = os.getuid(), os.getgid()
    lockdown.call("unshare", which)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def no_network() -> None:
    """For this process, which has one thread, and all that it starts: no interface but 127.0.0.1. Raises OSError."""
    _unshare(_USER | _NET)
    loopback()


def loopback() -> None:
    """127.0.0.1 of a network namespace without any other interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running


def _wait(child: int) -> None:
    """Ends as `child` ends."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(child, signal.SIGKILL))
    _leave(os.waitpid(child, 0)[1])


def _collect(worker: int) -> None:
    while True:
        ended, status = os.wait()
        if ended == worker:
            _leave(status)  # and the kernel ends all that is left in the namespace


def _leave(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def give_up(plan: dict) -> None:
    """All that the plan names, of the calling process, for good. It goes on in a child where that has namespaces."""
    if not plan["made"]:
        lockdown.die_with_parent(plan["parent"])
    lockdown.limit(plan["limits"])
    if plan["level"] == "namespaces":
        namespaces(plan)
    lockdown.no_new_privileges()
    try:
        lockdown.drop_capabilities()
    except OSError:
        pass  # it never had one
    os.chdir(plan["scratch"])
    own_network = plan["level"] != "landlock"
    if plan["landlock"]:
        given = {name: plan[name] for name in ("read", "write", "devices")}
        lockdown.landlock(**given, list_=plan["list"], network=own_network)
    if plan["seccomp"]:
        # sockets of UNIX reach by their path what is outside, and VSOCK the host of a virtual machine
        inside = (INET, INET6, NETLINK, UNIX) if plan["made"] else (INET, INET6, NETLINK) if own_network else ()
        lockdown.deny(lockdown.NEVER, families=inside)


def main() -> None:
    plan, command = json.loads(sys.argv[1]), sys.argv[2:]
    give_up(plan)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
