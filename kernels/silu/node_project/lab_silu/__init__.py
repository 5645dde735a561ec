"""torch.ops.lab.silu on an NPU. Importing the package loads the library that setup.py built."""

from pathlib import Path

import torch
import torch_npu  # noqa: F401  brings the device npu, and the symbols that the library needs

torch.ops.load_library(str(next(Path(__file__).parent.glob("_ops*.so"))))
