"""A command with the twin of an Arm host, on this machine: cross-compiled, and run by QEMU.

    python scripts/arm_host.py pytest -q tests/twin/vector -n 2
    python scripts/arm_host.py python program.py

The nodes that carry Ascend cards mostly have Arm processors (Kunpeng). The twin's library, its runner and every kernel
are Arm's here; Python, PyTorch and the simulated device stay this machine's, so it takes about as long again. What
Python itself loads (host functions, the tests' own C++ below tests/support) cannot be tried that way.

Needs Debian's g++-aarch64-linux-gnu and qemu-user-static. What is built is kept apart, in ~/.cache/labkit-arm or
$LABKIT_CACHE/labkit-arm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
HOME = Path(os.environ.get("LABKIT_CACHE") or Path.home() / ".cache") / "labkit-arm"
# The simulated device and operators are loaded by this machine's Python: they are the ones that include PyTorch.
CXX = f"""#!/bin/bash
for word in "$@"; do case "$word" in *torch*) exec g++ "$@";; esac; done
words=("$@")
for i in "${{!words[@]}}"; do [ "${{words[$i]}}" = -march=native ] && words[$i]=-march=armv8-a; done
exec {COMPILER} "${{words[@]}}"
"""


def missing() -> list[str]:
    """Debian's packages that are not here."""
    tools = {COMPILER: "g++-aarch64-linux-gnu", EMULATOR: "qemu-user-static"}
    return [package for tool, package in tools.items() if shutil.which(tool) is None]


def environment() -> dict[str, str]:
    """This one's, and what makes labkit's C++ that of an Arm host."""
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "cxx").write_text(CXX, encoding="utf-8")
    (HOME / "cxx").chmod(0o755)
    words = {name: value for name, value in os.environ.items() if name != "LABKIT_MARCH"}
    sysroot = f"/usr/{COMPILER.removesuffix('-g++')}"
    return words | {
        "CXX": str(HOME / "cxx"),
        "LABKIT_EMULATOR": f"{EMULATOR} -L {sysroot}",
        "LABKIT_CACHE": str(HOME),
        "QEMU_LD_PREFIX": sysroot,  # a program with a main() is started as it is, where the kernel knows Arm's (binfmt)
    }


def main(command: list[str]) -> int:
    if not command:
        print(__doc__)
        return 2
    if packages := missing():
        print(f"arm_host: not here: {', '.join(packages)}. Try apt-get install {' '.join(packages)}", file=sys.stderr)
        return 2
    return subprocess.run(command, env=environment()).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
