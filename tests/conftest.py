"""What every test shares: a fixed language, no autoloaded backend, no window, repeatable random examples.

The environment is set before anything imports labkit or torch, and child processes inherit it.
"""
from __future__ import annotations

import os
from pathlib import Path

import pytest

for _name in ("LABKIT_LANG", "LABKIT_STRICT", "LABKIT_TARGET", "LABKIT_DEVICE"):
    os.environ.pop(_name, None)
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")  # jupyter_core warns on standard error without it

try:
    import hypothesis
except ModuleNotFoundError:
    pass
else:
    # No deadline: the first launch compiles. Derandomised: a red run on one machine is red on all.
    hypothesis.settings.register_profile("lab", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("lab")


@pytest.fixture(scope="session")
def repo() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[1]
