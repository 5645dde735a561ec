"""What Linux lets a process give up without being root: Landlock, seccomp, capabilities, limits. By ctypes, since
Python's library has no call for them. Each of these is for the calling process and all that it starts, for good.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 22, 38


def call(name: str, *arguments) -> int:
    """A function of C's library. Raises OSError."""
    result = getattr(_libc, name)(*arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def die_with_parent(parent: int) -> None:
    """SIGKILL for this process when `parent`, which started it, ends."""
    call("prctl", PR_SET_PDEATHSIG, 9, 0, 0, 0)
    if os.getppid() not in (parent, 0):  # it has ended already
        os._exit(1)


def hide_memory() -> None:
    """No process without a capability may read this one's memory, trace it or open its /proc files."""
    call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)


def no_new_privileges() -> None:
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_capabilities() -> None:
    """All of them, of this process and of what it starts."""
    for number in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
            break
    header = struct.pack("Ii", 0x20080522, 0)
    call("capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(24))


def limit(values: dict[str, int]) -> None:
    """values: a name of the resource module without RLIMIT_ -> soft and hard limit; what is lower already stays."""
    for name, value in values.items():
        which = getattr(resource, f"RLIMIT_{name}")
        soft, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


# ---- Landlock: which files may be opened, and (version 4) TCP, (6) signals and abstract sockets

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_FILE = 0b111 | 1 << 14 | 1 << 15  # execute, write, read, truncate, ioctl: the rights that a file can have
_READ = 0b1101  # execute, read file, read folder


def landlock_version() -> int:
    """0: not there, or switched off."""
    return max(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1), 0)


def landlock(
    read: list[str], write: list[str], *, devices: list[str] = (), list_: list[str] = (), network: bool = True
) -> None:
    """From now on only files below `read` may be opened, for reading; those below `write` and `devices` for writing
    too; below `list_` names can be seen. Paths that are not there are left out. network: TCP stays allowed.
    Raises OSError where there is no Landlock.
    """
    version = landlock_version()
    handled = (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1
    words = [handled, 0 if network or version < 4 else 3, 3 if version >= 6 else 0]
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", *words)[:size], size)
    rules = call("syscall", _CREATE, attributes, ctypes.c_size_t(size), 0)
    for paths, rights in ((read, _READ), (write, handled), (devices, 0b110), (list_, 0b1000)):
        for path in paths:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            allowed = rights & handled
            if not os.path.isdir(path):
                allowed &= _FILE
            try:
                call("syscall", _ADD, rules, 1, ctypes.create_string_buffer(struct.pack("=Qi", allowed, fd), 12), 0)
            finally:
                os.close(fd)
    no_new_privileges()
    call("syscall", _RESTRICT, rules, 0)
    os.close(rules)


# ---- seccomp: which calls the kernel answers

_NUMBERS = {  # x86_64, aarch64
    "socket": (41, 198), "clone": (56, 220), "ptrace": (101, 117), "pivot_root": (155, 41), "mount": (165, 40),
    "umount2": (166, 39), "init_module": (175, 105), "kexec_load": (246, 104), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97), "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265), "setns": (308, 268), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "finit_module": (313, 273), "memfd_create": (319, 279), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "clone3": (435, 435), "pidfd_getfd": (438, 438), "memfd_secret": (447, 447),
}  # fmt: skip
_ARCHITECTURE = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
NEVER = tuple(n for n in _NUMBERS if n not in ("socket", "clone", "clone3", "memfd_create"))
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _BITS, _RETURN = 0x20, 0x15, 0x45, 0x06


def can_filter() -> bool:
    """Is there a list of call numbers for this machine, and has its kernel seccomp?"""
    return platform.machine() in _ARCHITECTURE and os.path.exists("/proc/sys/kernel/seccomp")


def deny(calls: tuple[str, ...], *, families: tuple[int, ...] | None = None) -> None:
    """These calls fail with EPERM from now on. families: the address families that socket() may still have; None: as
    before. No new user namespaces either, where "unshare" is among the calls. Raises OSError, KeyError.
    """
    column, audit = _ARCHITECTURE[platform.machine()]
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:  # x32's numbers
        program += [(0x35, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    for name in calls:
        program += [(_EQUAL, 0, 1, _NUMBERS[name][column]), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    if "unshare" in calls:  # clone3's flags lie in memory, where no filter can look: libraries fall back to clone
        program += [(_EQUAL, 0, 1, _NUMBERS["clone3"][column]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
        program += [(_EQUAL, 0, 4, _NUMBERS["clone"][column]), (_LOAD, 0, 0, 16)]
        program += [(_BITS, 0, 1, 0x7E020000), (_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    if families is not None:
        program += [(_EQUAL, 0, len(families) + 2, _NUMBERS["socket"][column]), (_LOAD, 0, 0, 16)]
        program += [(_EQUAL, len(families) - k, 0, family) for k, family in enumerate(families)]
        program += [(_RETURN, 0, 0, _ERRNO | _EPERM)]
    program += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    no_new_privileges()
    call("prctl", PR_SET_SECCOMP, 2, filter_, 0, 0)
