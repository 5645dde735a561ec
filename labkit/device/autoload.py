"""Makes `import labkit; import torch; x.npu()` work in any order, without labkit importing torch itself.

Where the device cannot be installed (no compiler, say) torch still imports and the reason is a warning;
`labkit doctor` says what to do.
"""

from __future__ import annotations

import os
import warnings

from labkit import device
from labkit.device.import_hook import after_import


def _install(_torch) -> None:
    try:
        device.install()
    except Exception as error:
        warnings.warn(f"labkit: the npu device is not there: {error} (labkit doctor tells more)", stacklevel=2)


def watch() -> None:
    """Installs the device now if torch is there, else as soon as it is imported. LABKIT_DEVICE=none: never."""
    if os.environ.get("LABKIT_DEVICE", "auto") != "none":
        after_import("torch", _install)
