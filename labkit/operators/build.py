"""Building an operator's C++ side: with the host compiler and the twin's shims here, with bisheng on a node."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from labkit import messages
from labkit.build import bisheng, compiler, headers, includes, precompiled, runtime
from labkit.build.cache import keep, key
from labkit.device.build import torch_flags, torch_libs
from labkit.source.errors import CompileError
from labkit.source.lowering import lower_adapter

_LAUNCHED = re.compile(r'::labkit::bind\("([^"]*)"')
_HINTS = (
    (r"'(\w+)' is not a member of 'at'", "adapter.hint.include"),
    (r"'(c10_npu|at_npu)' (?:has not been|was not) declared", "adapter.hint.npu"),
)
_AUTOGRAD = "torch/csrc/autograd/custom_function.h"
_PYTHON = re.compile(r"<(?:torch/extension\.h|Python\.h|pybind11/)")


def launched(text: str, filename: str) -> list[str]:
    """The names of the kernels that the text launches, as written. Raises SourceError."""
    return list(dict.fromkeys(_LAUNCHED.findall(lower_adapter(text, filename))))


def _flags(text: str) -> list[str]:
    first = [str(headers.TREES["kernel"] / "torch_npu" / "adapter.h")]
    if f"<{_AUTOGRAD}>" in text:  # half of what such an adapter costs: read first, it comes precompiled
        first.append(_AUTOGRAD)
    flags = [*torch_flags(), "-O0", "-g0", "-fno-gnu-unique", *(word for name in first for word in ("-include", name))]
    if compiler.gcc_major(compiler.find_cxx()) == 0:
        flags.remove("-fno-gnu-unique")  # clang has no such symbols
    return flags


def prepare() -> None:
    """Makes PyTorch's headers ready, precompiled, for every adapter to come: 35 CPU s once, and 700 MB."""
    cxx = compiler.find_cxx()
    folders = [f"-I{folder}" for folder in headers.include_dirs()]
    for text in ("", f"<{_AUTOGRAD}>"):
        words = [*compiler.KERNEL_FLAGS, *_flags(text), *folders, *compiler.message_flags(cxx), "-fPIC"]
        precompiled.forced(cxx, compiler.cxx_version(cxx), words, make=True)


def for_twin(text: str, filename: str, announce, folder: Path | None = None) -> Path:
    """The library. Raises CompileError, SourceError, ToolError."""
    lowered = lower_adapter(text, filename)
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
    twin = runtime.library()  # the kernels' code is in the text, though nothing calls it here
    flags = _flags(text)
    if _PYTHON.search(text):
        flags.append(f"-Wp,-isystem,{sysconfig.get_paths()['include']}")
    if folder:
        flags += ["-iquote", str(folder)]
    try:
        return compiler.compile_kernel(
            f'#line 1 "{quoted}"\n{lowered}',
            filename=filename,
            include_dirs=headers.include_dirs(),
            flags=flags,
            libs=[*torch_libs(), twin, f"-Wl,-rpath,{twin.parent}"],
            announce=announce,
            in_two_steps=True,  # the object is the same whichever twin there is
        )
    except CompileError as error:
        raise _in_words_of_cpp(error) from None


def _in_words_of_cpp(error: CompileError) -> CompileError:
    """The same error without what the lab says about Ascend C calls: this is the host's side."""
    for problem in error.problems:
        problem["message"], problem["hint"] = problem["raw"], None
        for pattern, hint in _HINTS:
            if m := re.search(pattern, problem["raw"]):
                problem["hint"] = messages.text(hint, name=m[1])
    return CompileError(
        error.problems, stderr=error.stderr, command=error.command, text=error.text, filename=error.filename
    )


def for_npu(text: str, filename: str, announce, folder: Path | None = None) -> Path:
    """The library for torch_npu on a node. The words are those of CANN's samples; their author ran them on none."""
    import torch
    import torch.utils.cpp_extension as extension

    root = bisheng.find_root()
    adapted = __import__("torch_npu")
    wheel = Path(adapted.__file__).parent
    here = folder or Path(filename).resolve().parent
    stem = re.sub(r"\W+", "_", Path(filename).stem).strip("_") or "adapter"
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    words = bisheng.command(
        f"{stem}.asc",
        f"{stem}.so",
        root=root,
        arch=bisheng.arch_for(bisheng.soc_name()),
        include_dirs=[here, *extension.include_paths(), sysconfig.get_paths()["include"], wheel / "include"],
    )
    words += [
        f"-std={'c++20' if release >= (2, 14) else 'c++17'}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-L{Path(torch.__file__).parent / 'lib'}",
        f"-L{wheel / 'lib'}",
        "-ltorch_npu",
        "-ltorch",
        "-ltorch_cpu",
        "-lc10",
    ]
    data = text.encode()
    # both are brought up to date in place, and their paths stay
    versions = torch.__version__, getattr(adapted, "__version__", ""), bisheng.cann_version(root)
    parts: list = ["npu adapter", *versions, *words, data]
    for path, digest in sorted(includes.reach([], [data], [str(here)]).items()):
        parts += [path, digest]

    def make(work: Path) -> None:
        (work / f"{stem}.asc").write_bytes(data)
        run = [str(work / w) if w in (f"{stem}.asc", f"{stem}.so") else w for w in words]
        bisheng.compile_words(run, root, filename, text)

    return keep(
        f"{stem}-adapter", key(*parts), f"{stem}.so", make, lambda: announce(messages.text("npu.building", name=stem))
    )
