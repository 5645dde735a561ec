"""labkit.operator("swiglu"): the modules of layer.py, replace() of a model's MLPs, and Fusing for torch.compile."""

from .fuse import Fusing, why_not
from .layer import LONGEST, NATIVE, SOURCES, TYPES, SwiGLU, SwiGLUMLP, is_rows, missing, rows
from .replace import replace

__all__ = [
    "Fusing",
    "LONGEST",
    "NATIVE",
    "SOURCES",
    "SwiGLU",
    "SwiGLUMLP",
    "TYPES",
    "is_rows",
    "missing",
    "rows",
    "replace",
    "why_not",
]
