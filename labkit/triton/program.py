"""The whole of a kernel's Ascend C: one Triton program is one pass of a loop in which a core takes its programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.codegen.lines import comment
from labkit.triton import control, elementwise, memory, reduce, scalars  # noqa: F401  (they bring their rules)
from labkit.triton.helpers import source
from labkit.triton.kernel import Kernel
from labkit.triton.refused import refuse
from labkit.triton.ttir import Op


@dataclass(frozen=True)
class Lowered:
    """text: Ascend C. cores: "vector", "cube" or "mix". workspace: bytes of GM for each block. access: what was
    decided for loads and stores that are not contiguous."""

    text: str
    name: str
    cores: str = "vector"
    workspace: int = 0
    access: list[str] = field(default_factory=list)


GRID = ["int32_t grid0", "int32_t grid1", "int32_t grid2"]


def programs(body: list[str]) -> list[str]:
    """The loop over the programs of a core, with the program's place in the grid."""
    text = "\n".join(body)
    lines = ["    for (int32_t program = GetBlockIdx(); program < grid0 * grid1 * grid2; program += GetBlockNum()) {"]
    if "pid0" in text:
        several = "pid1" in text or "pid2" in text
        lines.append(f"        const int32_t pid0 = {'program % grid0' if several else 'program'};")
    if "pid1" in text:
        lines.append("        const int32_t pid1 = program / grid0 % grid1;")
    if "pid2" in text:
        lines.append("        const int32_t pid2 = program / grid0 / grid1;")
    return [*lines, *body, "    }"]


def head(name: str, file: str, access: list[str]) -> list[str]:
    lines = comment(f"Written by labkit.triton from the Triton kernel {name}; numbers in comments are its lines.")
    lines += [f"// {note}" for note in access]
    lines += [f"// from {file}"]
    return [*lines, '#include "kernel_operator.h"', "using namespace AscendC;", ""]


def lower(func: Op) -> Lowered:
    """Raises Refused."""
    for op in func.walk():
        if op.name == "tt.call":
            raise refuse(op, "a call of a function with noinline", "leave noinline out")
    name = func.str("sym_name")
    k = Kernel(func)
    params = k.arguments()
    k.block(func.blocks[0].ops)
    lines = head(name, next((op.file for op in func.walk() if op.line), "?"), k.access)
    lines += source(k.helpers, k.shared).splitlines()
    lines += ["", f'extern "C" __global__ __aicore__ void {name}({", ".join([*params, *GRID])})', "{"]
    lines += ["    " + line for line in [*k.globals(), *k.homes()]]
    return Lowered("\n".join([*lines, *programs(k.lines), "}", ""]), name, access=k.access)
