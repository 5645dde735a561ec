"""What a task is called in a profile: kernel, OP Type, core, data types. The names are in kernel_names.toml."""

from __future__ import annotations

import importlib.resources
import re
from functools import lru_cache
from typing import NamedTuple

from labkit.chips import tomllib
from labkit.profiler.events import Task, TensorFacts

# Of labkit.device.ENGINES; a mixed kernel is begun by the cube core.
CORES = {"vector": "AI_VECTOR_CORE", "cube": "AI_CORE", "cores": "MIX_AIC"}
# Accelerator Core in kernel_details to kernel_type in task_time (both seen in samples)
TASK_TYPES = {
    "AI_VECTOR_CORE": "KERNEL_AIVEC",
    "AI_CORE": "KERNEL_AICORE",
    "MIX_AIC": "KERNEL_MIX_AIC",
    "MIX_AIV": "KERNEL_MIX_AIV",
    "AI_CPU": "KERNEL_AICPU",
}
COPIES = {"copy_in": "MEMCPY_ASYNC", "copy_out": "MEMCPY_ASYNC", "copy": "MEMCPY_ASYNC"}
COPY_TYPES = {"copy_in": "PCIE_DMA_SQE", "copy_out": "PCIE_DMA_SQE", "copy": "SDMA_SQE"}
COPY_OPERATIONS = {"copy_in": "host to device", "copy_out": "device to host", "copy": "device to device"}


class Kernel(NamedTuple):
    """name: as in kernel_details; type: OP Type; core: Accelerator Core; call: the function of the aclnn library, ""
    where the kernel is launched without one."""

    name: str
    type: str
    core: str
    call: str


@lru_cache(maxsize=1)
def table() -> dict:
    """kernel_names.toml."""
    text = importlib.resources.files("labkit.profiler").joinpath("kernel_names.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def kernel(task: Task) -> Kernel:
    """The kernel that a task of kind "kernel" is on a node."""
    core = CORES.get(task.engine, "AI_VECTOR_CORE")
    if task.ours:
        return Kernel(task.name, task.name, core, "")
    operator = task.name.split("::")[-1]
    base = operator.split(".")[0]
    key, found = _entry(_copied(task) if base == "copy_" else operator)
    if not key:
        return _by_rule(base, core)
    name, _, other = found.partition(" ")
    if _in_place(base) and key == base.rstrip("_"):  # the entry is of the form that is not in place
        name = _inplace_call(name.removeprefix("aclnn"))
    return Kernel(name, name.rsplit("_", 1)[-1], other or core, name.partition("_")[0])


def _in_place(base: str) -> bool:
    """add_ and __iadd__, not __and__."""
    return base.startswith("__i") if base.endswith("__") else base.endswith("_")


def _inplace_call(name: str) -> str:
    return f"aclnn{name}" if name.startswith(("Inplace", "Foreach")) else f"aclnnInplace{name}"


def _entry(operator: str) -> tuple[str, str]:
    """(key of the table, its text); two empty ones of an operator that it has not."""
    names = table()
    base = operator.split(".")[0]
    for wanted in (operator, base, base.rstrip("_")):
        for part in ("seen", "plugin"):
            if wanted in names[part]:
                return wanted, names[part][wanted]
    return "", ""


def _copied(task: Task) -> str:
    """copy_ within a device is a cast, a move or a transposition, by what goes in and comes out."""
    inputs, outputs = task.inputs, task.outputs or task.inputs[:1]
    source = inputs[-1] if inputs else None
    if source and outputs and source.dtype != outputs[0].dtype:
        return "copy_.cast"
    if "transpose" in task.name:
        return "copy_.transpose"
    return "copy_.move"


def _by_rule(operator: str, core: str) -> Kernel:
    camel = "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", operator.strip("_")) if part) or "Kernel"
    call = _inplace_call(camel) if _in_place(operator) else f"aclnn{camel}"
    return Kernel(f"{call}_{camel}AiCore_{camel}", camel, core, call)


def collective(task: Task) -> str:
    """OP Type of a collective: hcom_allReduce_."""
    operator = task.name.split("::")[-1].split(".")[0].strip("_")
    names = {key.strip("_"): value for key, value in table()["collectives"].items()}
    if operator in names:
        return names[operator]
    best = max((key for key in names if operator.startswith(key)), key=len, default="")
    return names.get(best, f"hcom_{operator}_")


def dtype(name: str, hccl: bool = False) -> str:
    """FLOAT16 of "float16" or "torch.float16"; of one that is not in the table the name in capitals."""
    bare = name.removeprefix("torch.")
    pair = table()["dtypes"].get(bare)
    return pair[int(hccl)] if pair else bare.upper()


def shapes(tensors: list[TensorFacts]) -> str:
    """Sizes as "2,3;4", with the quotes that the tables have around them; N/A of no tensor."""
    return '"' + ";".join(",".join(map(str, t.shape)) for t in tensors) + '"' if tensors else "N/A"


def dtypes(tensors: list[TensorFacts]) -> str:
    return ";".join(dtype(t.dtype) for t in tensors) or "N/A"


def formats(tensors: list[TensorFacts]) -> str:
    return ";".join(t.format or "ND" for t in tensors) or "N/A"
