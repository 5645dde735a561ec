"""The npu target: a kernel built by CANN's own compiler and launched inside the torch_npu process.

    module = bisheng.build(text, lowering.parse(text), "add.asc", entries=["scale<half>"]) -> NpuModule, cached
    us = module.launch("add", 8, [bytes of each argument], keep=[tensors])                 -> device time, microseconds
    module.launch("add", 8, values, keep=tensors, measure=False)                           -> None, asynchronous

The learner's text is compiled as it stands, behind it one launcher with a C name for each kernel, so that ctypes can
start it with an array of pointers to the arguments - the same convention as the twin's trampolines. No torch header
is included: such a library builds in seconds and fits every torch_npu.

What is known here comes from CANN's and torch_npu's documentation and sources and was never run on an NPU by its
author; in particular a kernel that takes `half` by value needs CANN's host-side half type, and templates are written
out by text.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.build import includes
from labkit.build.cache import keep as keep_built
from labkit.build.cache import key
from labkit.build.compiler import TIMEOUT_S, ToolError
from labkit.build.diagnostics import compile_error
from labkit.build.process import TooSlow, Workers, c_locale
from labkit.source.errors import ENTRY_FILE
from labkit.source.kernels import KernelSignature, Param, clean, symbol, wanted
from labkit.source.scan import split

OLDEST = (9, 0)  # .asc files and <<<>>> for A2/A3 came with CANN 9.0
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_FALLBACKS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
_PROGRAMS = ("bin", "tools/bisheng_compiler/bin", "compiler/ccec_compiler/bin")
# SoC name without "Ascend" -> architecture; the order matters: "910B1" and "910_9392" before "910"
_ARCHITECTURES = (
    (r"910_?9\d", "dav-2201"),
    (r"910B", "dav-2201"),
    (r"950", "dav-3510"),
    (r"310P", "dav-2002"),
    (r"310B", "dav-3002"),
    (r"910(?:(?:Pro|Premium)?A|ProB)?(?!\w)", "dav-1001"),  # no other letter: a chip that comes later is unknown
)


class NpuError(RuntimeError):
    """The device reported an error. code: CANN's number; the text says what it means and what to try."""

    def __init__(self, code: int, said: str) -> None:
        self.code, self.said = code, said
        known = f"npu.{code}" if messages.has(f"npu.{code}") else "npu.unknown"
        super().__init__(messages.text(known, code=code) + "\n" + messages.text("npu.said", said=said.strip()[:600]))

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


# ---- CANN on this machine


def find_root() -> Path:
    """The folder of CANN: ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, else where it installs itself. Raises ToolError."""
    for name in _VARIABLES:
        if value := os.environ.get(name):
            if not Path(value).is_dir():
                raise ToolError(messages.text("npu.wrong_root", name=name, value=value))
            return Path(value)
    for place in _FALLBACKS:
        if (root := Path(place).expanduser()).is_dir():
            return root
    raise ToolError(messages.text("npu.no_cann"))


def cann_version(root: Path) -> str:
    """ "9.1.0" from ascend_toolkit_install.info, "" when the file is not there."""
    for folder in (root / f"{platform.machine()}-linux", root):
        try:
            text = (folder / "ascend_toolkit_install.info").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if m := re.search(r"^\s*version\s*=\s*(\S+)", text, re.M):
            return m[1]
    return ""


def find_bisheng(root: Path) -> Path:
    """CANN's compiler: in the root it belongs to, else on PATH. Raises ToolError."""
    for folder in _PROGRAMS:
        if (program := root / folder / "bisheng").is_file():
            return program
    if found := shutil.which("bisheng"):
        return Path(found)
    raise ToolError(messages.text("npu.no_bisheng", root=root))


def arch_for(soc_name: str) -> str:
    """The architecture word of a SoC: "Ascend910B1", "910B1" or "Ascend910_9392" -> "dav-2201". Raises ToolError."""
    bare = re.sub(r"^ascend[\s_]*", "", soc_name.strip(), flags=re.I)
    for pattern, arch in _ARCHITECTURES:
        if re.match(pattern, bare, re.I):
            return arch
    raise ToolError(messages.text("npu.unknown_soc", soc=soc_name))


def soc_name() -> str:
    """The chip of the current device as torch_npu names it, such as "Ascend910B1"."""
    return _torch().npu.get_device_name(_torch().npu.current_device())


def command(
    asc_path: str | os.PathLike,
    so_path: str | os.PathLike,
    *,
    root: Path | None,
    arch: str,
    debug: bool = False,
    include_dirs: Iterable[str | os.PathLike] = (),
) -> list[str]:
    """The words that compile one .asc into a shared library. debug: symbols, and CANN's own API checks on the device.
    root: CANN's folder; None: only to look at."""
    level = ["-O0", "-g", "-DASCENDC_DEBUG"] if debug else ["-O2"]
    return [
        str(find_bisheng(root)) if root else "bisheng",
        "-x",
        "asc",
        f"--npu-arch={arch}",
        "-shared",
        "-fPIC",
        "-std=c++17",
        *level,
        *(f"-I{folder}" for folder in include_dirs),
        str(asc_path),
        "-o",
        str(so_path),
    ]


# ---- the source that bisheng gets


def host_source(
    text: str, signatures: Sequence[KernelSignature], filename: str = "kernel.asc", entries: Iterable[str] = ()
) -> str:
    """The learner's text, and for each kernel
    `extern "C" void labkit_launch_<name>(uint32_t blocks, void* stream, const void* const* a)`.

    entries: instantiations of template kernels, such as "scale<half, 3>"; a template without one has no launcher.
    """
    text = clean(text)
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
    out = [f'#line 1 "{quoted}"', text.rstrip("\n"), f'#line 1 "{ENTRY_FILE}"']
    for name, kernel in wanted(signatures, entries, filename, text):
        code = [_launcher(name, kernel)]
        for guard in kernel.guard:
            code = [*guard.split("\n"), *code, "#endif"]
        out += code
    return "\n".join(out) + "\n"


def _launcher(name: str, kernel: KernelSignature) -> str:
    values = ", ".join(f"*({_host_type(p, name, kernel)} const*)a[{i}]" for i, p in enumerate(kernel.params))
    return (
        f'extern "C" __attribute__((visibility("default"))) void labkit_launch_{symbol(name)}'
        f"(uint32_t blocks, void* stream, const void* const* a) "
        f"{{ (void)a; {name}<<<blocks, nullptr, stream>>>({values}); }}"
    )


def _host_type(param: Param, name: str, kernel: KernelSignature) -> str:
    """The type of an argument on the host side: no address space, no qualifiers, template parameters filled in."""
    words = re.sub(r"\b(?:__gm__|__restrict__|__restrict|restrict|const|volatile)\b", " ", param.type)
    words = " ".join(re.sub(r"\bGM_ADDR\b", "uint8_t*", words).split())
    if param.array:
        words += "*"
    for parameter, argument in template_arguments(name, kernel).items():
        words = re.sub(rf"\b{re.escape(parameter)}\b", argument, words)
    return words


def template_arguments(name: str, kernel: KernelSignature) -> dict[str, str]:
    """{"T": "half", "N": "3"} of `scale<half, 3>` for `template <typename T, int N>`; defaults fill the rest."""
    if kernel.template is None or "<" not in name:
        return {}
    inside = name[name.index("<") + 1 : name.rindex(">")]
    given = [inside[a:b].strip() for a, b in split(inside, 0, len(inside))]
    found: dict[str, str] = {}
    for i, (a, b) in enumerate(split(kernel.template, 0, len(kernel.template))):
        declared, _, default = kernel.template[a:b].partition("=")
        parameter = re.search(r"(\w+)\s*$", declared)
        value = given[i] if i < len(given) and given[i] else default.strip()
        if parameter and value:
            found[parameter[1]] = value
    return found


# ---- building


def build(
    text: str,
    signatures: Sequence[KernelSignature],
    filename: str,
    *,
    entries: Iterable[str] = (),
    soc: str | None = None,
    debug: bool = False,
    announce: Callable[[str], None] | None = None,
) -> "NpuModule":
    """The kernels of `text` ready to launch; compiled by bisheng at the first call, from the cache afterwards.

    soc: the chip to compile for, by default that of the current device. Raises CompileError, ToolError, SourceError.
    """
    root = find_root()
    version = cann_version(root)
    if version and tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise ToolError(messages.text("npu.old_cann", version=version, oldest=".".join(map(str, OLDEST))))
    code = host_source(text, signatures, filename, entries)
    stem = re.sub(r"\W+", "_", Path(filename).stem).strip("_") or "kernel"
    here = Path(filename).resolve().parent
    data = code.encode()
    own = [str(here)] if here.is_dir() and any(quoted for quoted, _ in includes.includes(data)) else []
    words = command(
        f"{stem}.asc", f"{stem}.so", root=root, arch=arch_for(soc or soc_name()), debug=debug, include_dirs=own
    )
    parts: list[str | bytes] = ["npu", version, str(root), *words, data]
    for path, digest in sorted(includes.reach([], [data], own).items()):
        parts += [path, digest]

    def make(work: Path) -> None:
        (work / f"{stem}.asc").write_bytes(data)
        run = [str(work / w) if w in (f"{stem}.asc", f"{stem}.so") else w for w in words]
        compile_words(run, root, filename, code)

    def say() -> None:
        if announce is not None:
            announce(messages.text("npu.building", name=stem))

    return NpuModule(keep_built(f"{stem}-npu", key(*parts), f"{stem}.so", make, say))


def compile_words(words: list[str], root: Path, filename: str, code: str) -> None:
    """Runs bisheng. Raises CompileError, with its places in `filename`, and ToolError."""
    env = c_locale()
    env.setdefault("ASCEND_HOME_PATH", str(root))
    try:
        status, stderr = Workers().run(words, timeout=TIMEOUT_S, env=env)
    except TooSlow as slow:
        raise ToolError(messages.text("compiler.too_slow", seconds=slow.seconds)) from None
    except OSError as error:
        raise ToolError(messages.text("npu.bisheng_broken", program=words[0], error=error)) from None
    if status:
        raise compile_error(stderr, filename=filename, text=code, command=words)


# ---- launching


@lru_cache(maxsize=1)
def _torch():
    import torch
    import torch_npu  # noqa: F401  (gives torch.npu)

    return torch


class NpuModule:
    """A built library of kernels. path: the shared library."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self._library = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise ToolError(messages.text("npu.load", path=self.path, error=error)) from None
        self._pending: deque = deque()  # (event, tensors, argument values) of launches that may still be running

    def __repr__(self) -> str:
        return f"NpuModule({self.path.name})"

    def launch(
        self, entry: str, blocks: int, values: Sequence, *, keep: Iterable = (), measure: bool = True
    ) -> float | None:
        """Start `entry` on the current stream; values: one C object (bytes or ctypes) for each argument.

        keep: tensors that must live until the kernel has run. measure: wait, and return the device's time in
        microseconds between two events; else return None at once. Raises NpuError, AttributeError (no such entry).
        """
        npu = _torch().npu
        function = self._function(entry)
        held = [_c_object(v) for v in values]
        pointers = (ctypes.c_void_p * max(1, len(held)))(*(ctypes.addressof(h) for h in held))
        try:
            begin = npu.Event(enable_timing=True) if measure else None
            end = npu.Event(enable_timing=measure)
            if begin is not None:
                begin.record()
            # Fetched anew at every launch, never kept: torch_npu hands its operators to the device through a queue of
            # its own on the host, and reading `npu_stream` waits until that queue is empty. A handle fetched earlier
            # is the same number but skips the wait, and this kernel would overtake operators (and the event above)
            # that were called before it: wrong results, sometimes.
            stream = npu.current_stream().npu_stream
            function(blocks, stream, pointers)
            end.record()
            self._pending.append((end, tuple(keep), held))
            if begin is None:
                self._forget()
                return None
            end.synchronize()
            self._forget()
            return begin.elapsed_time(end) * 1e3
        except RuntimeError as error:
            raise (explain(error) or error) from None

    def _forget(self) -> None:
        """Releases what finished launches kept alive. Does not wait."""
        self._pending = deque(entry for entry in self._pending if not entry[0].query())

    def _function(self, entry: str):
        function = getattr(self._library, f"labkit_launch_{symbol(entry)}")
        function.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
        function.restype = None
        return function


def _c_object(value):
    if isinstance(value, (bytes, bytearray)):
        # 16-byte aligned: the launcher reads the value through a pointer of the parameter's own type
        room = ctypes.create_string_buffer(len(value) + 16)
        offset = -ctypes.addressof(room) % 16
        place = (ctypes.c_uint8 * max(1, len(value))).from_buffer(room, offset)
        ctypes.memmove(place, bytes(value), len(value))
        return place
    return value


_CODE = re.compile(r"\b([1-5]\d{5})\b")


def explain(error: BaseException) -> NpuError | None:
    """What an error of CANN or torch_npu means, as an NpuError; None when it names no code of CANN."""
    if isinstance(error, NpuError):
        return error
    said = str(error)
    codes = [int(c) for c in _CODE.findall(said)]
    known = next((c for c in codes if messages.has(f"npu.{c}")), None)
    if known is None and not re.search(r"error code|errorCode|ACL_ERROR", said, re.I):
        return None
    return NpuError(known or codes[0], said) if codes else None
