"""The whole of a kernel's Ascend C: one Triton program is one pass of a loop in which a core takes its programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from triton.runtime.errors import OutOfResources

from labkit.codegen import helpers as codegen
from labkit.codegen.lines import comment
from labkit.triton import control, elementwise, memory, mixed, reduce, scalars, split, windows  # noqa: F401  (they bring rules)
from labkit.triton.access import early_addresses
from labkit.triton.cube import Computed, CubeKernel, behind_the_end
from labkit.triton.helpers import cube_source, source
from labkit.triton.kernel import KEYWORDS, Kernel
from labkit.triton.refused import Refused, refuse, shown
from labkit.triton.sides import can_turn, trim, turn
from labkit.triton.ttir import Op, Value


@dataclass(frozen=True)
class Lowered:
    """text: Ascend C. cores: "vector", "cube" or "mix", or "one": a single vector core. workspace: bytes of GM for each
    block; ub: bytes of UB that are used. access: what was decided for loads and stores that are not contiguous."""

    text: str
    name: str
    cores: str = "vector"
    workspace: int = 0
    ub: int = 0
    access: list[str] = field(default_factory=list)


GRID = ["int32_t grid0", "int32_t grid1", "int32_t grid2"]


def programs(body: list[str]) -> list[str]:
    """The loop over the programs of a core, with the program's place in the grid."""
    text = "\n".join(body)
    lines = ["    for (int32_t program = GetBlockIdx(); program < grid0 * grid1 * grid2; program += GetBlockNum()) {"]
    if "pid0" in text:
        lines.append("        const int32_t pid0 = program % grid0;")
    if "pid1" in text:
        lines.append("        const int32_t pid1 = program / grid0 % grid1;")
    if "pid2" in text:
        lines.append("        const int32_t pid2 = program / grid0 / grid1;")
    return [*lines, *body, "    }"]


def name_of(func: Op) -> str:
    """The kernel's in C++: Python allows names that mean something there."""
    name = func.str("sym_name")
    return f"{name}_kernel" if name in (*KEYWORDS, "main", "printf") else name


def head(func: Op, access: list[str]) -> list[str]:
    name, file = func.str("sym_name"), next((op.file for op in func.walk() if op.line), "?")
    lines = comment(f"Written by labkit.triton from the Triton kernel {name}; numbers in comments are its lines.")
    lines += [f"// {note}" for note in access] + [f"// from {'cell' if shown(file) == 'cell' else file}"]
    return [*lines, '#include "kernel_operator.h"', "using namespace AscendC;", ""]


def lower(read) -> Lowered:
    """read: gives the kernel's tt.func, a new one at each call. Raises Refused."""
    func = read()
    if len(func.blocks) > 1:
        raise refuse(func.blocks[0].ops[-1], "a return in the midst of other branches", "put the rest under an if")
    for op in func.walk():
        if op.name == "tt.call":
            raise refuse(op, "a call of a function with noinline", "leave noinline out")
        if op.name == "tt.dot" and len(op.result.shape) != 2:
            raise refuse(op, "tl.dot of three dimensions", "multiply the matrices one by one, in a loop")
    if not any(op.name == "tt.dot" for op in func.walk()):
        return _either_way(read, func)
    for op in func.walk():
        if op.name.startswith("tt.atomic"):
            raise refuse(op, "an atomic beside tl.dot", "store the product and add it in a kernel of its own")
        if op.name == "scf.while":
            raise refuse(op, "a while loop beside tl.dot", "write it as for ... in range(...)")
    if split.stored_alone(func):
        try:
            return _cube(func)
        except Computed:
            pass
    return _mixed(read)


def _either_way(read, func: Op) -> Lowered:
    """As it stands, or with its tiles turned where that leaves fewer accesses element by element."""
    may = can_turn(func)
    made = _fitting(early_addresses(trim(func)))
    if not may or not made.access:
        return made
    try:
        turned = early_addresses(trim(turn(read())))
        other = _fitting(turned, "tiles are turned: lanes of the first dimension are neighbours in GM")
    except Refused:
        return made
    return other if len(other.access) < len(made.access) else made


def _fitting(func: Op, note: str = "") -> Lowered:
    """Lowered again where a loop's integers turn out to be tiles, or where UB is too small for queues of their own."""
    tiles: set[Value] = set()
    queues = None
    while True:
        try:
            return _vector(func, tiles, queues, note)
        except control.NeedsTile as again:
            if again.value in tiles:
                raise
            tiles.add(again.value)
        except OutOfResources:  # with places that loads and stores share with all else
            if queues == 0:
                raise
            queues = 0


def needed_by_all(func: Op, k: Kernel) -> frozenset[str]:
    """Conditions of a whole program without which it does nothing that anybody sees."""
    effects = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.print", "tt.assert")
    if len(k.asked) != sum(op.name in effects for op in func.walk()) or not k.asked:
        return frozenset()
    return frozenset(set.intersection(*k.asked))


def _vector(func: Op, tiles: set[Value], queues: int | None, note: str = "") -> Lowered:
    """tiles: what loops hand on as tiles; queues: how many of a kind at most."""
    name = name_of(func)

    def lowered(held: frozenset[str]) -> tuple[Kernel, list[str]]:
        k = Kernel(func)
        k.most_queues = k.most_queues if queues is None else queues
        k.as_tiles = tiles
        k.alone = memory.alone(func)
        k.held = held
        params = k.arguments()
        if held:
            k.emit(f"if (!({' && '.join(sorted(held))})) continue;  // nothing that it would store counts")
        if k.alone:
            k.emit("PipeBarrier<PIPE_ALL>();  // what the program before has stored")
        k.block(func.blocks[0].ops)
        return k, params

    k, params = lowered(frozenset())
    if held := needed_by_all(func, k):
        k, params = lowered(held)
    lines = head(func, [*([note] if note else []), *k.access]) + source(k.helpers, k.shared).splitlines()
    lines += ["", f'extern "C" __global__ __aicore__ void {name}({", ".join([*params, *GRID])})', "{"]
    lines += ["    " + line for line in [*k.globals(), *k.homes()]]
    cores = "one" if k.alone else "vector"
    return Lowered("\n".join([*lines, *programs(k.lines), "}", ""]), name, cores, ub=k.used, access=k.access)


def _cube(func: Op) -> Lowered:
    name = name_of(func)
    part = split.cube(func, set())
    stores = split.needs([], [op for op in func.walk() if op.name == "tt.store"], split.handed)
    k = CubeKernel(func, split.Part(part.ops | stores.ops, part.values | stores.values), None)
    params = k.arguments()
    k.block(func.blocks[0].ops)
    for v in behind_the_end(k, k.masks):
        raise Computed(v)
    lines = head(func, k.access)
    lines += codegen.source(set(), rows=False).splitlines() + ["", *cube_source(k.helpers, False).splitlines()]
    lines += ["", f'extern "C" __global__ __cube__ void {name}({", ".join([*params, *GRID])})', "{"]
    lines += ["    " + line for line in [*k.globals(), "InitSocState();"]]
    return Lowered("\n".join([*lines, *programs(k.lines), "}", ""]), name, cores="cube", access=k.access)


def _mixed(read) -> Lowered:
    pair = mixed.Pair(read)
    cube, vector, vectors, spaces = pair.cube, pair.vector, pair.vectors, pair.spaces
    func, name = cube.func, name_of(cube.func)
    params = Kernel(func).arguments()
    access = list(dict.fromkeys([*cube.access, *vector.access]))
    lines = head(func, access)
    lines += source(vector.helpers | cube.helpers & {"Within"}, vector.shared).splitlines()
    lines += ["", *cube_source(cube.helpers, True).splitlines()]
    lines += ["", *split.flags(spaces), ""]
    taken = ", ".join([*params, "GM_ADDR workspace", *GRID])
    lines += [f'extern "C" __global__ __mix__(1, {vectors}) void {name}({taken})', "{"]
    lines += ["    " + line for line in [*cube.globals(), *split.declared(spaces), "InitSocState();"]]
    body = [*split.places(spaces, 1), *split.begun(spaces, True)]
    lines += ["    if ASCEND_IS_AIC {", *("        " + line for line in body)]
    lines += ["    " + line.replace("Sync<", "CubeSync<") for line in programs(cube.lines)]
    lines += [*("        " + line for line in split.ended(spaces, True)), "    }", "    if ASCEND_IS_AIV {"]
    lines += ["        " + x for x in [*split.places(spaces, vectors), *split.begun(spaces, False)]]
    lines += ["        " + line for line in vector.homes()]
    if vectors == 1:
        lines.append("        const int32_t row0 = 0;")
    mine = programs(vector.lines)
    mine[0] = mine[0].replace("GetBlockIdx()", f"GetBlockIdx() / {vectors}")
    lines += ["    " + line for line in mine]
    lines += ["        " + line for line in split.ended(spaces, False)]
    text = "\n".join([*lines, "    }", "}", ""])
    return Lowered(text, name, "mix", split.size(spaces), vector.used, access)
