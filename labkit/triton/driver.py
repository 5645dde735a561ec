"""The driver half of the back end: device npu, a launch is one of labkit.kernel, a time is the clock's."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from labkit import chips, device, messages
from labkit.build import cache as built
from labkit.build import compiler
from labkit.launch import kernel as launching
from labkit.launch import record as launches
from labkit.launch.kernel import Kernel, kernel
from labkit.launch.runner import clear_l2

MOST_PROGRAMS = 2**31 - 1
MOST_RECORDS = 64  # each takes 0.2 to 0.4 MB; who needs all uses recording()
records: deque = deque(maxlen=MOST_RECORDS)  # of launches, the newest last
launched: deque = deque(maxlen=MOST_RECORDS)  # of the same launches, what was emitted
_recording: list[list] = []
_kernels: dict[str, Kernel] = {}
_texts: dict[str, tuple[str, str]] = {}  # of each emitted file its text, and the author's file


@cache
def triton_lines(text: str, file: str) -> list[tuple[str, int]]:
    """For each line of the emitted text the author's (file, line): what the comment above it says; of a small function
    before the kernel that of its caller, where all calls stand under one line."""
    lines = text.splitlines()
    found, now, function, inside = [], ("", 0), "", {}
    for i, line in enumerate(lines):
        if m := re.match(r"\s*// (\d+): ", line):
            now = (file, int(m[1]))
        if m := re.match(r"(?:template <.*> )?__aicore__ inline \S+ (\w+)\(", line):
            function = m[1]
        if not now[1]:
            inside[i] = function
        found.append(now)
    for i, function in inside.items():
        calls = {found[n] for n, line in enumerate(lines) if n not in inside and re.search(rf"\b{function}\b", line)}
        if function and len(calls) == 1:
            found[i] = calls.pop()
    return found


def _of_call(text: str, places: list[tuple[str, int]], line: int, tensor: str) -> tuple[str, int]:
    """The place of the one call that hands `tensor` to the small function around `line`."""
    lines = text.splitlines()
    heads = (re.match(r"__aicore__ inline \S+ (\w+)\(", head) for head in reversed(lines[:line]))
    function = next((m[1] for m in heads if m), "")
    calls = {
        at
        for call, at in zip(lines, places)
        if at[1] and f"{tensor}Gm[" in call and re.search(rf"\b{function}\b", call)
    }
    return calls.pop() if function and len(calls) == 1 else ("", 0)


def _on_triton_lines(record) -> None:
    """Findings point at the author's kernel, not at what was made of it."""
    for f in record.findings:
        if f.file not in _texts:
            continue
        text, author = _texts[f.file]
        places = triton_lines(text, author)
        if not 0 < f.line <= len(places):
            continue
        place = places[f.line - 1]
        if not place[1] and f.numbers.get("tensor"):
            place = _of_call(text, places, f.line, f.numbers["tensor"])
        if place[1]:
            f.file, f.line = place


launches.watchers.insert(0, _on_triton_lines)


def cores(kind: str) -> int:
    chip = chips.load(chips.chosen())
    if kind == "one":
        return 1
    return chip["cores"]["aiv"] if kind == "vector" else chip["cores"]["aic"]


# ---- what a second process need not work out again: Triton's own key, and a kernel that was built already. Both are
# kept under the names, sizes and times of change of all files that they depend on: hashing libtriton, and reading a
# kernel's text and all headers that it reaches, take most of the time from an import to a result.

LABKIT = Path(__file__).resolve().parents[1]
OWN = ("build", "source", "launch", "twin", "chips.py")


def stamp(paths: Iterable[str | os.PathLike]) -> str:
    """Of files, and of all files in folders: names, sizes, times of change."""
    found = hashlib.sha256()
    stack = [str(p) for p in paths]
    while stack:
        path = stack.pop()
        try:
            inside = sorted(os.scandir(path), key=lambda e: e.name) if os.path.isdir(path) else []
            stat = os.stat(path)
        except FileNotFoundError:
            continue
        if not inside:
            found.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        for entry in inside:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    stack.append(entry.path)
                continue
            with suppress(FileNotFoundError):  # an editor's link to nowhere (.#file.py), or a file gone meanwhile
                one = entry.stat()
                found.update(f"{entry.path} {one.st_size} {one.st_mtime_ns}\n".encode())
    return found.hexdigest()


def quick_key() -> None:
    """From now on Triton's key of itself is worked out once for an installation, not once a process."""
    from triton.runtime import autotuner
    from triton.runtime import cache as triton_cache

    whole = triton_cache.triton_key
    if getattr(whole, "labkit", False):
        return

    @cache
    def triton_key() -> str:
        root = Path(triton_cache.__file__).resolve().parents[1]
        parts = [root / n for n in ("compiler", "backends", "language", "_C", "runtime/cache.py")]
        return _kept("triton-key", stamp(parts), whole)

    triton_key.labkit = True
    triton_cache.triton_key = autotuner.triton_key = triton_key


@cache
def _surroundings() -> str:
    return stamp([*(LABKIT / name for name in OWN), compiler.find_cxx()])


def again(text: str, file: str, make: Callable[[], object]):
    """A labkit.launch.kernel.Kernel of this text: as it was built before, or by make()."""
    words = [_surroundings(), text, file, chips.chosen()]
    found = _kept("triton-kernel", hashlib.sha256("\0".join(words).encode()).hexdigest(), make)
    found.l2 = launching.DEFAULT_L2  # this process's, not that of the one that built it
    return found if all(Path(p).exists() for p in found._built.values()) else make()


def _kept(name: str, digest: str, make: Callable[[], object]):
    def write(work: Path) -> None:
        (work / "it").write_bytes(pickle.dumps(make()))

    return pickle.loads(built.keep(name, digest, "it", write).read_bytes())


class Utils:
    @staticmethod
    def get_device_properties(device: int) -> dict:
        memory = chips.load(chips.chosen())["memory"]
        return {
            "max_shared_mem": memory["ub"],
            "multiprocessor_count": cores("vector"),
            "num_aicore": cores("cube"),
            "num_vectorcore": cores("vector"),
            "warpSize": 1,
            "max_num_regs": 1 << 16,
            "sm_clock_rate": 1850000,
            "mem_clock_rate": 1600000,
            "mem_bus_width": 4096,
        }

    @staticmethod
    def load_binary(name: str, binary: bytes, shared: int, device: int):
        """(module, function, registers, spills, most threads): the last three mean nothing here, but scripts divide by
        the registers."""
        text = binary.decode()
        if text not in _kernels:
            author = re.search(r"^// from (.*)$", text, re.M)
            file = f"{name}.asc"
            if file in _texts:  # by what it says, not by how many there are: the name is part of the key in the cache
                file = f"{name}_{hashlib.sha256(binary).hexdigest()[:8]}.asc"
            _kernels[text] = again(text, file, lambda: kernel(text=text, filename=file))
            _texts[file] = (text, author[1] if author else file)
        return text, _kernels[text], 1, 0, 1 << 20


def _pointer(a, name: str):
    """Triton takes a pointer, labkit.kernel a contiguous tensor: all that the tensor spans, as one row."""
    if not hasattr(a, "is_contiguous"):
        return a
    if a.device.type != "npu":
        raise ValueError(messages.text("triton.cpu_tensor", name=name, device=a.device))
    if str(a.dtype) == "torch.bool":
        import torch

        a = a.view(torch.int8)
    return a if a.is_contiguous() else a.as_strided((sum((n - 1) * s for n, s in zip(a.shape, a.stride())) + 1,), (1,))


def _described(a, name: str) -> list:
    """A TensorDescriptor as Triton's IR has it: the tensor, its sizes, its strides."""
    return [_pointer(a.base, name), *a.shape, *a.strides]


def _from(file: str, author: str) -> None:
    """Triton's cache knows a kernel by its text, not by its place: what comes from there names the file of whoever
    compiled it first, in a folder that may be gone. Findings point at the file that is launched now."""
    text, before = _texts[file]
    if Path(before).name == Path(author).name:
        _texts[file] = text, author


@contextmanager
def recording() -> Iterator[list]:
    """The records of the launches made inside, the oldest first, however many: `records` forgets its oldest, so a
    place in it is none."""
    seen: list = []
    _recording.append(seen)
    try:
        yield seen
    finally:
        _recording[:] = [other for other in _recording if other is not seen]


class Launcher:
    def __init__(self, src, metadata):
        names = list(src.signature)
        constants = {names[p] if isinstance(p, int) else p for p in (path[0] for path in src.constants)}
        self.kept = [(i, name) for i, name in enumerate(names) if name not in constants]
        self.cores, self.workspace = metadata.cores, metadata.workspace
        code = getattr(getattr(getattr(src, "fn", None), "fn", None), "__code__", None)
        self.author = code.co_filename if code else ""

    def __call__(self, g0, g1, g2, stream, function, packed_metadata, launch_metadata, enter, leave, *args):
        count = g0 * g1 * g2
        if not 0 < count <= MOST_PROGRAMS:
            raise ValueError(messages.text("triton.grid", grid=(g0, g1, g2)))
        values = []
        for i, name in self.kept:
            values += _described(args[i], name) if hasattr(args[i], "block_shape") else [_pointer(args[i], name)]
        blocks = min(cores(self.cores), count)
        if self.workspace:
            import torch

            values.append(torch.empty(self.workspace * blocks, dtype=torch.uint8, device="npu"))
        if enter is not None:
            enter(launch_metadata)
        _from(function.filename, self.author)
        record = function[blocks](*values, g0, g1, g2)
        records.append(record)
        launched.append(function.text)
        for seen in _recording:
            seen.append(record)
        if leave is not None:
            leave(launch_metadata)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", *, cold: bool = True, **_):
    """triton.testing.do_bench by the device's clock: milliseconds in which the device worked, modelled. Events around
    the call would show the host's time wherever it is the longer one, the same for every short kernel. Every run takes
    the same, so it is one, behind another that makes what is made once; warmup, rep and return_mode mean nothing.
    cold: with an empty L2, as upstream's; else with what the run before left in it.
    """
    npu = AscendCDriver.get_device_interface(None)
    fn()
    for x in grad_to_none or ():
        x.grad = None
    npu.synchronize()
    if cold:
        clear_l2()
    before = device.clock().launches
    fn()
    npu.synchronize()
    ms = sum(s.end_us - s.start_us for s in device.timeline_since(before)) / 1e3
    return ms if quantiles is None else [ms] * len(quantiles) if len(quantiles) > 1 else ms


class AscendCDriver(DriverBase):
    def __init__(self):
        super().__init__()
        import triton.testing

        quick_key()
        triton.testing.do_bench = do_bench  # its own repeats for 100 ms of the clock: 50,000 launches
        self.utils, self.launcher_cls = Utils(), Launcher

    @staticmethod
    def is_active() -> bool:
        """Not where CANN is usable, where triton-ascend drives the card, nor beside a GPU: Triton takes one driver."""
        import torch

        gpus = getattr(torch._C, "_cuda_getDeviceCount", lambda: 0)()  # torch.cuda may be transfer_to_npu's
        return not gpus and device.install() != "npu"

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "GM_ADDR" if ty.startswith("*") else ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("npu", chips.chosen(), 1)

    def get_current_device(self) -> int:
        return self.get_device_interface().current_device()

    def set_current_device(self, device: int) -> None:
        self.get_device_interface().set_device(device)

    def get_current_stream(self, device=None) -> int:
        return 0

    def get_device_interface(self):
        import torch

        return torch.npu

    def get_active_torch_device(self):
        import torch

        return torch.device("npu", self.get_current_device())

    def get_empty_cache_for_benchmark(self):
        """Nothing: what upstream overwrites a GPU's cache with."""

    def clear_cache(self, cache) -> None:
        clear_l2()

    def get_benchmarker(self):
        return do_bench
