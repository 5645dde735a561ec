"""The built half of a platform wheel: python scripts/build_shipped.py FOLDER (see labkit/build/shipped.py)."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from labkit.build import shipped  # noqa: E402
from labkit.device import build as device  # noqa: E402

TWIN = """
import shutil, sys
from labkit.build import runtime
for made in (runtime.library(), runtime.link_runner("$ORIGIN")):
    shutil.copy2(made, sys.argv[1])
"""


def make(folder: Path) -> None:
    """Fill `folder`. Raises CompileError, ToolError, CalledProcessError; without torch the device is left out."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    machine = platform.machine()
    facts = {"machine": machine, "twin": shipped.sources("twin"), "device": shipped.sources("device"), "torch": ""}
    for level in shipped.LEVELS[machine]:
        (folder / level).mkdir()
        words = {**os.environ, "LABKIT_MARCH": level, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", TWIN, str(folder / level)], env=words, check=True)
    try:
        version = device.torch_home()[1]
    except RuntimeError as error:
        print(f"without the simulated device: {error}", file=sys.stderr)
    else:
        shutil.copy2(device.library(), folder / "labdevice.so")
        facts["torch"] = version
    (folder / shipped.MANIFEST).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
