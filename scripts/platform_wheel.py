"""The wheel of labkit for this kind of machine, with the runtime in it.

    python scripts/platform_wheel.py [--out dist] [--pure]

linux_x86_64 or linux_aarch64 by the machine that it runs on: C++ is not built for another one. The twin is compiled
for a processor with AVX2 and for any (labkit/build/shipped.py), the simulated device for the torch that is installed
here; build on the oldest system that the wheel has to run on, since a newer glibc is not found on it. --pure: without
the runtime, which every machine then builds at its first launch.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--pure", action="store_true")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    words = {**os.environ, "LABKIT_PLATFORM_WHEEL": "0" if asked.pure else "1"}
    before = {wheel: wheel.stat().st_mtime_ns for wheel in asked.out.glob("labkit-*.whl")}
    with tempfile.TemporaryDirectory(prefix="labkit-wheel-") as scratch:
        # A copy of what git knows, so that no leftover of another build gets in.
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                target = Path(scratch) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((ROOT / name).read_bytes())
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "-q",
            "-w",
            str(asked.out),
        ]
        code = subprocess.run([*command, scratch], env=words).returncode
    for wheel in sorted(asked.out.glob("labkit-*.whl")):
        if wheel.stat().st_mtime_ns != before.get(wheel):  # one of an earlier build is not what was made
            print(f"{wheel}: {wheel.stat().st_size / 2**20:.1f} MB")
    return code


if __name__ == "__main__":
    sys.exit(main())
