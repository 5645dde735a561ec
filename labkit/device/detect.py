"""Which device this process gets: a real NPU through torch_npu, or the simulated one.

`import torch_npu` is not a test: with CANN's libraries present and no card it succeeds, and from then on the process
cannot be simulated any more. So what the files do not decide, a child process tries.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time

from labkit import paths

PROBE_TIMEOUT_S = 120.0  # torch_npu, CANN and a first kernel on a cold node
_FRESH_S = 24 * 3600.0
_PROBE = (
    "import sys, torch, torch_npu\n"
    "ok = torch.npu.is_available() and torch.ones(1).npu().add(1).item() == 2\n"
    "sys.exit(0 if ok else 3)\n"
)
_answer: bool | None = None


def usable_npu() -> bool:
    """Whether a real NPU can be used here. The first answer holds for the process.

    In this order: LABKIT_DEVICE=sim|npu decides; a torch_npu that is already imported is real; without the wheel or
    without /dev/davinci* there is none; else a child process imports torch_npu and adds two numbers.
    """
    global _answer
    if _answer is None:
        _answer = _decide()
    return _answer


def _decide() -> bool:
    forced = os.environ.get("LABKIT_DEVICE", "auto")
    if forced in ("sim", "npu"):
        return forced == "npu"
    if "torch_npu" in sys.modules:
        return getattr(sys.modules["torch_npu"], "__file__", None) is not None  # ours has no file
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or not glob.glob("/dev/davinci[0-9]*"):
        return False
    return _remembered(spec.origin or "") or _probe(spec.origin or "")


def _probe(origin: str) -> bool:
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    try:
        run = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    if run.returncode == 0:
        _remember(origin)
    return run.returncode == 0


# A "yes" is kept on disk, since asking costs 10 to 20 seconds of every notebook's start; a "no" is asked again,
# since the card may merely have been busy.


def _probe_file(origin: str):
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    visible = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
    key = hashlib.sha256("\0".join([boot, sys.executable, origin, visible]).encode()).hexdigest()[:16]
    return paths.cache_dir() / f"npu-probe-{key}.json"


def _remembered(origin: str) -> bool:
    try:
        seen = json.loads(_probe_file(origin).read_text(encoding="ascii"))
        return 0 <= time.time() - seen["time"] < _FRESH_S
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _remember(origin: str) -> None:
    try:
        _probe_file(origin).write_text(json.dumps({"time": time.time()}), encoding="ascii")
    except OSError:
        pass
