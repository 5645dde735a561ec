"""A kernel as an object: Ascend C source in, launches out.

    k = labkit.kernel("kernels/add/add.asc")
    record = k[8](x, y, z, n)            # 8 blocks; x, y, z are npu tensors

The source is parsed, lowered and built when the object is made, so that a mistake in it shows there; the build is
cached by content. On the twin a launch runs in a child process that shares the device's memory; on an NPU node the
same call builds with bisheng and launches on the current stream.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit import chips, device, messages, paths
from labkit.build import bisheng, compiler, headers, includes, operator_folders, runtime
from labkit.build.bisheng import template_arguments
from labkit.launch import runner
from labkit.launch.answer import record_of
from labkit.launch.record import LaunchRecord, announce, may_launch
from labkit.source import lowering, macros
from labkit.source.errors import NoSuchFile
from labkit.source.kernels import active, kernels, says
from labkit.source.structs import SCALARS

MOST_BLOCKS = 65535
DEFAULT_L2 = "warm"  # what a launch finds in the L2; the lab's own tests begin cold, so that their order does not show
_CORE_FLAGS = {"so": (), "cube_so": ("-DTWIN_CUBE_CORE",)}  # vector cores, cube cores


def _pointer_checks(cxx: str) -> list[str]:
    """Flags under which the kernel's own code calls the twin before each access through a pointer: one to GM may miss
    its tensor (twin/src/launch/scalar_gm.cpp)."""
    option = ["-mllvm", "-asan-{}"] if "clang" in os.path.basename(cxx) else ["--param", "asan-{}"]
    limits = ["instrumentation-with-call-threshold=0", "stack=0", "globals=0"]
    return ["-fsanitize=kernel-address", *(word.format(limit) for limit in limits for word in option)]


def kernel(
    path: str | os.PathLike | None = None,
    *,
    text: str | None = None,
    filename: str | None = None,
    entry: str | None = None,
    chip: str | None = None,
    timeout: float = 10.0,
    checks: bool = True,
    timing_only: bool = False,
    schedule: str = "program",
    l2: str | None = None,
    tiling_key: int = 0,
    defines: dict[str, str] | None = None,
    include_dirs: Sequence[str | os.PathLike] = (),
) -> "Kernel":
    """The kernel in an Ascend C file, or in `text`. A path that does not exist from here is taken from the checkout.

    entry: which kernel, where the source has several, or an instantiation such as "add<half>". chip: LABKIT_CHIP, else
    910B1. timeout: seconds of host time a launch may take on the twin. checks=False skips the race and initialisation
    checks (for measuring).
    timing_only=True moves and multiplies nothing and checks nothing: the clock alone counts, so that an 8192^3 matmul
    is timed in seconds; a kernel whose control flow depends on its data takes wrong branches.
    schedule="worst" delays every transfer as long as the synchronisation allows; "worst:7", with a number as seed,
    takes another order that it allows: copies that come early, other orders of copies and cores. A race then shows in
    the numbers, with some seed; a seed gives the same numbers each time.
    l2="warm" (the default): a launch finds in the L2 what earlier launches of this program left there, as on the
    card; tensors that no launch has seen are not in it. l2="cold": every launch begins with an empty one
    (labkit.clear_l2() empties it once).
    tiling_key: what TILING_KEY_IS compares with. defines, include_dirs: what the source is compiled with, as -D and -I
    (on the twin). Raises FileNotFoundError, labkit.CompileError (also for text that holds no kernel).
    """
    if (path is None) == (text is None):
        raise TypeError("give a path or text=, one of the two")
    if text is None:
        file = Path(path) if Path(path).exists() else paths.repo_root() / path  # a notebook runs in its own folder
        if not file.exists():
            home = paths.repo_root()
            raise NoSuchFile(messages.text("build.no-kernel-file", path=path, here=Path.cwd(), home=home))
        text = text_of(file)
        filename = filename or str(file.resolve())
    return Kernel(
        text,
        filename or "kernel.asc",
        entry=entry,
        chip=chip or chips.chosen(),
        timeout=timeout,
        checks=checks,
        timing_only=timing_only,
        schedule=schedule,
        l2=l2 or DEFAULT_L2,
        tiling_key=tiling_key,
        defines=dict(defines or {}),
        include_dirs=(*map(str, include_dirs), *operator_folders.side_by_side(filename or "kernel.asc")),
    )


class ArgumentError(TypeError):
    """An argument that the kernel cannot take; the text says which, why and what to write."""


def text_of(file: Path) -> str:
    """UTF-8, or what editors of a Chinese Windows write."""
    data = file.read_bytes()
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return data.decode("gb18030", errors="replace").replace("\r\n", "\n")


def _watched(text: str) -> list[str]:
    """Has a source with pointers to UB heard of its loads and stores there too (twin/src/memory/raw_access.cpp)."""
    clang = "clang" in compiler.cxx_version(compiler.find_cxx()).lower()
    return ["-DTWIN_UB_POINTERS"] if "__ubuf__" in text and not clang else []


@dataclass
class Kernel:
    """Made by `labkit.kernel`. signature: what it takes; launch with `k[blocks](*arguments)`."""

    text: str
    filename: str
    entry: str | None = None
    chip: str = field(default_factory=chips.chosen)
    timeout: float = 10.0
    checks: bool = True
    timing_only: bool = False
    schedule: str = "program"
    l2: str = "warm"
    tiling_key: int = 0
    defines: dict[str, str] = field(default_factory=dict)
    include_dirs: tuple[str, ...] = ()
    signature: lowering.KernelSignature = field(init=False)
    core_mix: tuple[int, int] = field(init=False, default=(0, 1))  # cube cores, vector cores of a block

    def __post_init__(self):
        if not runner.is_schedule(self.schedule):
            raise ValueError(messages.text("kernel.schedule", schedule=self.schedule))
        if self.l2 not in ("warm", "cold"):
            raise ValueError(messages.text("kernel.l2", l2=self.l2))
        self.text = macros.expanded(self.text)
        signatures = lowering.parse(self.text, self.filename)
        wanted, bracket, given = (self.entry or "").partition("<")
        wanted = wanted.strip()
        matching = [s for s in signatures if wanted in (s.name, s.qualified)] if wanted else signatures
        if len(matching) != 1:
            names = ", ".join(s.qualified for s in signatures)
            raise ValueError(messages.text("kernel.which", entry=self.entry or "", names=names, file=self.filename))
        self.signature = matching[0]
        self.entry = f"{self.signature.qualified}{bracket}{given}"
        self._structs = lowering.structs(self.text)
        if self.signature.template is not None:  # `T factor` of "scale<half>" is a half
            given = template_arguments(self.entry, self.signature)
            self.signature = replace(
                self.signature,
                params=tuple(
                    replace(p, ctype=given[p.ctype], kind="scalar" if given[p.ctype] in SCALARS else p.kind)
                    if p.ctype in given
                    else p
                    for p in self.signature.params
                ),
            )
        self._built = None
        self.build()

    # ---- building

    @property
    def target(self) -> str:
        """ "npu" where torch_npu and CANN are usable, else "twin"."""
        return "npu" if device.install() == "npu" else "twin"

    def build(self):
        """Builds for the target (paths of libraries for the twin,
        a labkit.build.bisheng module for the NPU); cached.
        """
        if self._built is None:
            entries = [self.entry] if self.signature.template is not None else []
            if self.target == "npu":
                self._built = bisheng.build(self.text, [self.signature], self.filename, entries=entries)
            else:
                self._built = self._build_for_twin(entries)
        return self._built

    def _build_for_twin(self, entries: list[str]) -> dict[str, Path]:
        """One library for each kind of core that the kernel has work for."""
        around = includes.text_of(self.text, Path(self.filename).resolve().parent, self.include_dirs)
        key = int(self.defines.get("TILING_KEY_VAR", self.tiling_key))
        self.core_mix, told = self._core_mix(around, key)
        words = [f"-D{name}={value}" for name, value in self.defines.items()] + compiler.no_builtins(
            [self.signature.name]
        )
        words += compiler.later_standard(self.text + around)
        text = self.text
        if lowering.for_device_alone(around):  # in a header, where the compiler would meet it
            dirs = [*self.include_dirs, *map(str, headers.include_dirs())]
            text = includes.in_place(Path(self.filename), text, dirs, lowering.for_device_alone)
        lowered = lowering.lower(text, self.filename, entries, around, self.defines)

        words += _pointer_checks(compiler.find_cxx()) + _watched(self.text + around)
        self._lowered, self._words = lowered, words

        def inspected(flags: tuple[str, ...]) -> Path:
            return self._compiled(*flags, *runtime.INSPECTED, only_object=True)

        if not told and self.core_mix[0]:  # its text has words of the cube: whether its code has is seen when compiled
            with ThreadPoolExecutor(2) as pool:
                cube, vector = pool.map(inspected, (_CORE_FLAGS["cube_so"], _CORE_FLAGS["so"]))
            entry = f"twin_entry_{lowering.symbol(self.entry)}"
            self.core_mix = runtime.cores_of(cube, vector, entry, self.core_mix)
        wanted = [kind for kind, cores in zip(_CORE_FLAGS, reversed(self.core_mix)) if cores]
        if len(wanted) == 1:
            return {wanted[0]: self._compiled(*_CORE_FLAGS[wanted[0]])}
        with ThreadPoolExecutor(2) as pool:
            return dict(zip(wanted, pool.map(lambda kind: self._compiled(*_CORE_FLAGS[kind]), wanted)))

    def _compiled(self, *flags: str, only_object: bool = False) -> Path:
        return compiler.compile_kernel(
            self._lowered,
            filename=self.filename,
            flags=[*self._words, *flags],
            libs=() if only_object else compiler.kernel_libs(),
            include_dirs=[*self.include_dirs, *headers.include_dirs()],
            only_object=only_object,
        )

    def debug_libraries(self) -> list[Path]:
        """The kernel once more, for each kind of core, with what the debugger knows of its variables."""
        return [self._compiled(*_CORE_FLAGS[kind], "-g") for kind in self._built]

    def _core_mix(self, around: str, key: int) -> tuple[tuple[int, int], bool]:
        """What the part of the source compiled with these defines looks like, and whether the kernel says it."""
        whole = active(around + "\n" + self.text, self.defines)
        text, kernel = whole[len(around) + 1 :], self.signature
        if text != self.text:
            found = kernels(text, self.filename)
            kernel = next((k for k in found if k.qualified == kernel.qualified and k.defined), kernel)
        told = says(kernel, key)
        return told or lowering.core_mix(kernel, whole, key), bool(told)

    # ---- launching

    def __getitem__(self, blocks: int) -> "Launcher":
        if not isinstance(blocks, int) or isinstance(blocks, bool) or not 1 <= blocks <= MOST_BLOCKS:
            raise ArgumentError(messages.text("kernel.blocks", blocks=blocks, most=MOST_BLOCKS))
        return Launcher(self, blocks)

    def __call__(self, *_arguments):
        raise ArgumentError(messages.text("kernel.no_blocks", name=self.signature.name))

    def __repr__(self) -> str:
        params = ", ".join(f"{p.type} {p.name}" for p in self.signature.params)
        return f"Kernel {self.entry}({params})"

    def struct(self, name: str, **fields) -> ctypes.Structure:
        """A struct of the source, or one of the library's for tiling, as a C object: `k.struct("AddTiling",
        length=4096)`, `k.struct("TCubeTiling", M=64, N=64, ...)`. Raises KeyError.
        """
        known = self.structs(name)
        if name not in known:
            raise KeyError(messages.text("kernel.no_struct", name=name, known=", ".join(sorted(self._structs)) or "-"))
        return lowering.encode(name, fields, known)

    def structs(self, name: str) -> dict[str, lowering.Struct]:
        """Those that the source defines; for a name that is not among them,
        also those of the files that it includes.
        """
        if name not in self._structs and name not in SCALARS:
            around = includes.text_of(self.text, Path(self.filename).resolve().parent, self.include_dirs)
            self._structs = lowering.structs(around) | self._structs
            if name not in self._structs:
                return lowering.structs(headers.tiling_structs()) | self._structs
        return self._structs


@dataclass(frozen=True)
class Launcher:
    """`k[blocks]`: call it with the kernel's arguments."""

    kernel: Kernel
    blocks: int

    def __call__(self, *arguments) -> LaunchRecord:
        """Launches and waits. Raises ArgumentError, labkit.LaunchError (see labkit.launch.record)."""
        k = self.kernel
        device.install(k.chip)
        may_launch(k.target)
        params = k.signature.params
        if len(arguments) != len(params):
            listed = ", ".join(f"{p.type} {p.name}" for p in params)
            raise ArgumentError(
                messages.text(
                    "kernel.count", name=k.signature.name, want=len(params), got=len(arguments), params=listed
                )
            )
        values = [_argument(k, i, p, a) for i, (p, a) in enumerate(zip(params, arguments))]
        run = _on_npu if k.target == "npu" else _on_twin
        return announce(run(k, self.blocks, values))


@dataclass(frozen=True)
class _Value:
    """One argument made ready: its bytes, and the tensor behind it (kept alive for the launch)."""

    data: bytes
    tensor: object = None
    ours: bool = False  # made from a struct

    def tensors(self) -> list:
        """It, and those that it points to (`points_to`, of a list of tensors)."""
        return [] if self.tensor is None else [self.tensor, *getattr(self.tensor, "points_to", ())]


def _argument(k: Kernel, index: int, param: lowering.Param, value) -> _Value:
    where = dict(index=index + 1, name=param.name, kernel=k.signature.name)
    if param.kind == "gm":
        return _pointer(k, param, value, where)
    if type(value).__module__.partition(".")[0] == "torch":
        raise ArgumentError(messages.text("kernel.scalar", **where, type=param.type))
    try:
        return _Value(bytes(lowering.encode(param.ctype, value, k.structs(param.ctype))))
    except OverflowError as error:
        raise ArgumentError(
            messages.text("kernel.overflow", **where, type=param.type, value=value, error=error)
        ) from None
    except (TypeError, ValueError, KeyError) as error:
        raise ArgumentError(
            messages.text("kernel.value", **where, type=param.type, got=type(value).__name__, error=error)
        ) from None


_POINTER_TYPES = {
    "half": "float16",
    "float16_t": "float16",
    "bfloat16_t": "bfloat16",
    "float": "float32",
    "int8_t": "int8",
    "int16_t": "int16",
    "int32_t": "int32",
    "int64_t": "int64",
}


def _pointer(k: Kernel, param: lowering.Param, value, where: dict) -> _Value:
    import torch

    if value is None:
        return _Value(bytes(8))
    ours = isinstance(value, (ctypes.Structure, ctypes.Array, bytes, bytearray))
    if ours:  # tiling data: goes to GM first
        value = torch.frombuffer(bytearray(bytes(value)), dtype=torch.uint8).npu()
    if not isinstance(value, torch.Tensor):
        raise ArgumentError(messages.text("kernel.not_tensor", **where, got=type(value).__name__))
    if value.device.type != "npu":
        raise ArgumentError(messages.text("kernel.cpu_tensor", **where, device=value.device))
    if not value.is_contiguous():
        raise ArgumentError(
            messages.text("kernel.contiguous", **where, shape=tuple(value.shape), stride=tuple(value.stride()))
        )
    wanted = _POINTER_TYPES.get(param.ctype)
    if wanted and value.dtype != getattr(torch, wanted):
        raise ArgumentError(
            messages.text("kernel.dtype", **where, want=wanted, got=str(value.dtype).replace("torch.", ""))
        )
    return _Value(value.data_ptr().to_bytes(8, "little"), value, ours)


# ---- the twin


def _on_twin(k: Kernel, blocks: int, values: list[_Value]) -> LaunchRecord:
    began = time.perf_counter()
    ranges = []
    for i, v in enumerate(values):
        for tensor in v.tensors():
            pointer = tensor.data_ptr()
            home = device.block(pointer)
            runner.runner_for(k.chip, device.arena()).l2.meet(tensor)
            ranges.append((i, pointer, tensor.numel() * tensor.element_size(), home is None or home[2]))
        ranges += pointed_to(i, v.data if v.tensor is None else _words(v.tensor))
    record = run_on_twin(k, blocks, [v.data for v in values], ranges)
    record.again.tiling = [v.tensor for v in values if v.ours]
    device.launch(k.signature.name, record.time_us, float(sum(r[2] for r in ranges)))
    for _, pointer, size, _ in ranges:
        device.touch_l2(pointer, size)
    record.wall_s = time.perf_counter() - began
    return record


def _words(tensor) -> bytes:
    """What a tensor holds, where it may be a list of addresses (ListTensorDesc): no more words than such a list has."""
    whole = not tensor.dtype.is_floating_point and tensor.element_size() == 8 and tensor.is_contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * 8) if whole and 1 < tensor.numel() <= 4096 else b""


def pointed_to(index: int, value: bytes) -> list[tuple[int, int, int, bool]]:
    """Ranges of GM whose addresses stand in a struct that is passed by value, or in a tensor (a list of tensors): of
    each word of 8 bytes that is the address of device memory, from there to the end of the allocation."""
    _, base, size = device.arena()
    words = struct.unpack(f"<{len(value) // 8}Q", value[: len(value) // 8 * 8]) if len(value) > 8 else ()
    homes = [(p, device.block(p)) for p in words if base <= p < base + size]
    return [(index, p, home[0] + home[1] - p, home[2]) for p, home in homes if home]


def run_on_twin(k: Kernel, blocks: int, values: list[bytes], ranges: list[tuple[int, int, int, bool]]) -> LaunchRecord:
    """One launch in the child process; the device's clock is left to the caller.
    values, ranges: as runner.Request has them.
    """
    device.no_fork()
    built = k.build()
    child = runner.runner_for(k.chip, device.arena())
    l2 = child.l2
    request = runner.Request(
        so=str(built.get("so", "")),
        cube_so=str(built.get("cube_so", "")),
        core_mix=k.core_mix,
        entry=f"twin_entry_{lowering.symbol(k.entry)}",
        kernel=k.signature.name,
        blocks=blocks,
        values=values,
        ranges=ranges,
        l2=None if k.l2 == "cold" else l2.held,
        timeout=k.timeout,
        threads=int(os.environ.get("LABKIT_THREADS", 0)) or os.cpu_count() or 1,
        checks=k.checks,
        effects=not k.timing_only,
        schedule=k.schedule,
        tiling_key=k.tiling_key,
    )
    answer, timeline = child.launch(request)
    if request.l2 is not None and answer["finished"]:
        l2.held = [(at, size, bool(dirty)) for at, size, dirty in answer["l2"]]
    record = record_of(k, blocks, answer, timeline)
    record.again = Again(k.chip, request)
    for f in record.findings:  # an argument is known to the reader by its name
        index = f.numbers.get("argument", -1)
        f.numbers["tensor"] = k.signature.params[index].name if 0 <= index < len(k.signature.params) else "?"
    for _, pointer, _, _ in ranges:
        device.mark_written(pointer)
    return record


@dataclass
class Again:
    """A launch that can be timed again, its effects left out.
    Tiling data stays alive for it, the caller's tensors do not.
    """

    chip: str
    request: runner.Request
    tiling: list = field(default_factory=list)

    def what_if(self, changes: list[tuple[str, float]]) -> tuple[dict, list]:
        """(answer, [[change, amount, us or below 0], ...]):
        the launch, and what it would take with each change alone.
        """
        request = replace(
            self.request,
            checks=False,
            effects=False,
            keep_events=0,
            what_ifs=changes,
            timeout=max(60.0, self.request.timeout),
        )
        answer, _ = runner.runner_for(self.chip, device.arena()).launch(request)
        return answer, answer.get("what_ifs", [])


# ---- the NPU


def _on_npu(k: Kernel, blocks: int, values: list[_Value]) -> LaunchRecord:
    began = time.perf_counter()
    us = k.build().launch(k.entry, blocks, [v.data for v in values], keep=[v.tensor for v in values])
    record = LaunchRecord(
        target="npu", kernel=k.signature.name, blocks=blocks, time_us=us, time_kind="measured", chip=k.chip
    )
    record.wall_s = time.perf_counter() - began
    return record
