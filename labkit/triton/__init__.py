"""Triton kernels on the simulated npu: unchanged `@triton.jit`, lowered to Ascend C that one can read.

    import labkit.triton
    labkit.triton.install()              # not needed where labkit was installed with pip: Triton finds its entry point
    kernel[grid](x.npu(), y, n, BLOCK=1024)

Triton's front end gives its IR (ttir.py); integers become expressions over lanes (index.py, forms.py), from which
each load and store is decided (access.py, memory.py); what is left goes to the vector unit (elementwise.py, tiles.py,
conditions.py, words.py, reduce.py, scalars.py, control.py) or, where that has no instruction, lane by lane to the
scalar unit (lanes.py, rearrange.py), each tile by one rule of layout (layout.py) in places by liveness (kernel.py),
with small functions before the kernel (helpers.py). Block pointers and descriptors are windows (windows.py). tl.dot
goes to the cube core (cube.py); where its result is worked on, or an operand was computed, split.py parts the kernel,
over the kinds of cores and its rows over two vector cores, and mixed.py lowers both parts, which hand tiles to each
other through GM. sides.py swaps rows and columns where that makes lanes neighbours, and leaves out lanes that masks
leave out everywhere. cann.py has what kernels for this chip import beside tl. program.py prints the whole;
compiler.py and driver.py are what Triton calls; refused.py says what is not there. inductor/ is
the default backend of torch.compile; gelu.py has products that need fewer instructions than their parts.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys

TESTED = "3.7.1"
CANN = "triton.language.extra.cann"


class CannModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The modules that kernels for this chip import, where triton-ascend, which has them, is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name in (CANN, f"{CANN}.libdevice", f"{CANN}.extension", "triton.runtime.libentry"):
            return importlib.machinery.ModuleSpec(name, self, is_package=name == CANN)
        return None

    def exec_module(self, module) -> None:
        from labkit.triton import cann

        cann.fill(module)


if not any(type(finder).__name__ == "CannModules" for finder in sys.meta_path):
    sys.meta_path.append(CannModules())


class Absent(ImportError):
    """Triton is not there, or not one that this back end was tested with. In a notebook it is one line."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def install() -> None:
    """Makes the back end known to Triton, where its entry point is not. Raises Absent where Triton is missing."""
    from labkit import messages

    try:
        import triton
        from triton import backends
    except ImportError:
        raise Absent(messages.text("triton.absent")) from None
    if triton.__version__.split(".")[:2] != TESTED.split(".")[:2]:
        raise Absent(messages.text("triton.version", tested=TESTED, found=triton.__version__))
    from triton.runtime import driver

    from labkit.triton.driver import AscendCDriver

    if "ascendc" not in backends.backends:
        from labkit.triton.compiler import AscendCBackend

        backends.backends["ascendc"] = backends.Backend(AscendCBackend, AscendCDriver)
    if AscendCDriver.is_active():
        _ = driver.active  # made now, so that do_bench goes by the device's clock before any launch, too


def last():
    """The record of the last launch of a Triton kernel: see labkit.launch.record. Raises IndexError before any."""
    from labkit.triton.driver import records

    return records[-1]


def _text(made) -> str:
    from labkit.triton.driver import launched

    return launched[-1] if made is None else made.asm["asc"].decode()


def body(made=None) -> str:
    """What a launch's compiled kernel does in each program, as Ascend C: the text behind its small functions and the
    declarations of its buffers. made: what kernel[grid](...) returned; None: of the last launch, as of a kernel that
    torch.compile wrote. Raises IndexError before any."""
    import textwrap

    lines = _text(made).rstrip("\n").split("\n")
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for (int32_t program"))
    return textwrap.dedent("\n".join(lines[first:-1]))


def element_wise(made=None) -> list[tuple[int, str]]:
    """(line of the Triton file, how and why) of each load and store that goes element by element. made: as of body."""
    import re

    stated = re.findall(r"^// (\d+): ((?:strided|gather).*)$", _text(made), re.M)
    return [(int(line), how) for line, how in stated]


_loaded: set[str] = set()  # names in sys.modules that load() gave


def _free_name(file) -> str:
    """What a file's module is called: as the file, or with a prefix where Python has another module of that name, as
    for a learner's triton.py or random.py: whoever imports that one later must not get the learner's."""
    import importlib.util

    name, there = file.stem, None
    if name in _loaded:
        return name
    if name in sys.modules:
        there = getattr(sys.modules[name], "__file__", None) or "built in"
    elif "." not in name and (spec := importlib.util.find_spec(name)) is not None:
        there = spec.origin or "a folder"
    return name if there in (None, str(file)) else f"labkit_loaded_{name}"


def load(path):
    """The module of a Python file with Triton kernels, as those beside ours: load("kernels/swiglu/swiglu_triton.py").
    path: from the checkout's folder, or absolute. Raises FileNotFoundError, and what the file raises."""
    import importlib.util

    from labkit import messages, paths

    file = paths.repo_root() / path
    if not file.is_file():
        raise FileNotFoundError(messages.text("triton.no-file", path=file))
    name = _free_name(file)
    spec = importlib.util.spec_from_file_location(name, file)
    before, module = sys.modules.get(name), importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise
    _loaded.add(name)
    return module


# Triton looks for back ends while it is imported, and takes this package's driver and compiler. So it comes first:
# imported by one of them, it would find that one half done.
with contextlib.suppress(ImportError):
    importlib.import_module("triton")
