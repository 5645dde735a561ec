"""What measured numbers hang on: versions, machine, chip, commit. It stands in every file of results."""

from __future__ import annotations

import datetime
import platform
import subprocess

from labkit.paths import repo_root


def environment() -> dict:
    """What the numbers hang on."""
    import torch

    from labkit import __version__, device

    def git(*arguments: str) -> str:
        said = subprocess.run(["git", *arguments], cwd=repo_root(), capture_output=True, text=True)
        return said.stdout.strip() if not said.returncode else ""

    return {
        "labkit": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "chip": device.chip() or "measured on this node's npu",
        "target": device.mode() or "",
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain")),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
