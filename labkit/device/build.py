"""Builds the device's shared library for the installed torch, once; later uses find it in the compiler's cache.

No Python headers and no pybind: one library serves every Python version.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from labkit import messages
from labkit.build import compiler, shipped

OLDEST_TORCH = (2, 6)
_CPP20_FROM = (2, 14)
_SOURCES = Path(__file__).resolve().parent / "csrc"


def torch_home() -> tuple[Path, str]:
    """(folder, version) of the installed torch, without importing it. Raises ToolError when there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise compiler.ToolError(messages.text("device.no_torch"))
    folder = Path(next(iter(spec.submodule_search_locations)))
    names: dict = {}
    exec((folder / "version.py").read_text(encoding="utf-8"), names)
    return folder, str(names["__version__"])


def torch_flags() -> list[str]:
    """What a file that includes PyTorch's headers is compiled with. Raises ToolError (no torch, torch too old)."""
    folder, version = torch_home()
    release = tuple(int(part) for part in version.split(".")[:2])
    if release < OLDEST_TORCH:
        raise compiler.ToolError(
            messages.text("device.old_torch", torch=version, oldest=".".join(map(str, OLDEST_TORCH)))
        )
    flags = [
        f"-std={'c++20' if release >= _CPP20_FROM else 'c++17'}",
        "-fvisibility=hidden",
        f"-DLABKIT_TORCH={release[0] * 100 + release[1]}",
        # Written so that the cache does not hash the 680 headers of torch at every start (0.1 s): they change with
        # the version, which is a flag for that reason.
        f"-Wp,-isystem,{folder / 'include'}",
        f"-Wp,-isystem,{folder / 'include/torch/csrc/api/include'}",
        f'-DLABKIT_TORCH_VERSION="{version}"',
    ]
    if release < (2, 7):  # wheels before 2.7 may have been built with the old layout of std::string
        import torch

        flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
    return flags


def torch_libs() -> list[str]:
    lib = torch_home()[0] / "lib"
    return [f"-L{lib}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}"]


def library() -> Path:
    """Path of the built library. Raises ToolError (no torch, no compiler, torch too old), CompileError."""
    version = torch_home()[1]
    if brought := shipped.device(version):
        return brought

    def announce(_: str) -> None:
        messages.note(messages.text("device.building", torch=version))

    return compiler.build(
        [_SOURCES / name for name in ("device.cpp", "arena.cpp", "clock.cpp", "capi.cpp", "recorder.cpp")],
        # NDEBUG as torch's wheels are built: at::RecordFunction has another layout without it
        flags=[*torch_flags(), "-O2", "-DNDEBUG"],
        libs=torch_libs(),
        deps=sorted(_SOURCES.glob("*.h")),
        name="labdevice",
        announce=announce,
    )
