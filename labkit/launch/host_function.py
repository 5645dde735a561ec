"""Functions of a kernel's file that run on the host: tiling, as CANN's samples write it beside the kernel.

    make_tiling = host_function(labkit.kernel("kernels/matmul/matmul.asc", entry="product_mdl"), "make_tiling")
    make_tiling(m, n, k, buffer)            # whole numbers, and ctypes objects to be filled

The function is `extern "C"` and returns an integer. On the twin it is compiled from the same text once more, because a
kernel's library hides all names but its entries; on an NPU node it is in the library that bisheng made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from labkit.build import compiler, headers, runtime
from labkit.launch.kernel import Kernel
from labkit.source import lowering


def host_function(kernel: Kernel, name: str) -> Callable[..., int]:
    """`name` of the kernel's file. Raises AttributeError where the file exports no such function, CompileError."""
    if kernel.target == "npu":
        library = ctypes.CDLL(str(kernel.build().path))
    else:
        ctypes.CDLL(str(runtime.library()), mode=ctypes.RTLD_GLOBAL)  # what the text calls is in there
        lowered = lowering.lower(kernel.text, kernel.filename, [], "")
        library = ctypes.CDLL(
            str(
                compiler.compile_kernel(
                    lowered,
                    filename=kernel.filename,
                    flags=["-fvisibility=default"],
                    include_dirs=[*kernel.include_dirs, *headers.include_dirs()],
                )
            )
        )
    function = getattr(library, name)
    function.restype = ctypes.c_int64
    return function
