"""Triton's IR as Python objects, read through libtriton's own bindings.

`module.walk` visits an operation after its regions; each names its block and its regions by id, which is all that the
tree needs. The bindings show int, bool and str attributes. Constants, and the lines of operations without a result
(stores), are read from the printed form, where operations without regions come in the walk's order.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(repr=False, eq=False)
class Value:
    """type: as MLIR prints it. name: the Python variable's, where Triton noted one. op: None for a block's argument."""

    type: str
    name: str = ""
    op: Op | None = None
    users: list[Op] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        return _shape(self.type)[0]

    @property
    def elem(self) -> str:
        return _shape(self.type)[1]


@dataclass(repr=False, eq=False)
class Block:
    args: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    parent: Op | None = None


@dataclass(repr=False, eq=False)
class Op:
    """file, line: the author's; 0 where Triton noted none. const: of arith.constant, a number.
    checked: of a load or store by a block pointer, the dimensions that are held against the tensor."""

    name: str
    handle: object
    operands: list[Value]
    results: list[Value]
    blocks: list[Block]
    block: Block | None = None
    file: str = ""
    line: int = 0
    const: object = None
    checked: tuple[int, ...] = ()
    text: str = ""  # of some, what is printed behind the name
    early: bool = False  # moved to the front: its line comes later

    @property
    def result(self) -> Value:
        return self.results[0]

    def int(self, name: str) -> int:
        return self.handle.get_int_attr(name)

    def str(self, name: str) -> str:
        return self.handle.get_str_attr(name) or ""

    def holds(self, op: Op) -> bool:
        """Whether an operation lies in one of its blocks."""
        while op.block is not None and op.block.parent is not None:
            op = op.block.parent
            if op is self:
                return True
        return False

    def walk(self) -> Iterator[Op]:
        for block in self.blocks:
            for op in block.ops:
                yield op
                yield from op.walk()


def parse(text: str) -> tuple[str, tuple[int, ...], str]:
    """(inner type, shape, element's type) of a pointer to a tensor, or of a descriptor of one."""
    inner = text[text.index("<") + 1 : -1]
    inner = inner if inner.startswith("tensor") else f"tensor<{inner}>"
    return inner, *_shape(inner)


def _shape(text: str) -> tuple[tuple[int, ...], str]:
    m = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", text)
    return (tuple(int(n) for n in m[1].split("x")[:-1]), m[2]) if m else ((), text)


_CONSTANT = re.compile(r"= arith\.constant (?:\{[^}]*\} )?([^:\n]+?)(?: : \S+)?$", re.M)
_NAMED = re.compile(r'loc\((?:callsite\()*(?:"([^"]*)"\()?"([^"]*)":(\d+):\d+')
_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$", re.M)
_FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def _number(text: str, elem: str) -> bool | int | float:
    text = re.sub(r"^dense<(.*)>$", r"\1", text.strip())
    if text in ("true", "false"):
        return text == "true"
    floating = elem in ("f16", "bf16", "f32", "f64")
    if text.startswith("0x") and floating:
        bits = int(text, 16)
        if elem == "bf16":
            return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        to, of = _FORMATS[elem]
        return struct.unpack(to, struct.pack(of, bits))[0]
    return float(text) if floating else int(text)


def _place(loc: str, aliases: dict[str, str]) -> tuple[str, int]:
    """(file, line) in the kernel's own file: of a function of another one that was inlined, where it is called."""
    found = re.findall(r'"([^"]*)":(\d+):\d+', loc)
    if found and not re.search(r"#loc\d", loc):
        return next((file, int(line)) for file, line in found if file == found[-1][0])
    for _ in range(20):
        places = re.findall(r'"([^"]*)":(\d+):\d+|(#loc\d*)', loc)
        if not places:
            break
        file, line, alias = places[-1]
        if file:
            return file, int(line)
        loc = aliases.get(alias, "")
    return "", 0


def _printed(module) -> dict[str, Iterator[tuple[tuple[str, int], tuple[int, ...], str]]]:
    """Of each kind of operation that is not asked for this: the place of the first, the second, ... of them, and the
    dimensions that are checked."""
    text = str(module)
    aliases = dict(_ALIAS.findall(text))
    found: dict[str, list] = {}
    kinds = "descriptor_store|store|load|assert|print|trans|atomic_rmw|atomic_cas"
    for name, rest, loc in re.findall(rf"^.*?\b(tt\.(?:{kinds}))\b(.*) (loc\(.*\))$", text, re.M):
        check = re.search(r"boundaryCheck = array<i32: ([\d, ]+)>", rest)
        checked = tuple(int(d) for d in check[1].split(",")) if check else ()
        found.setdefault(name, []).append((_place(loc, aliases), checked, rest))
    return {name: iter(places) for name, places in found.items()}


def read(module) -> Op:
    """The kernel: the one tt.func that is public."""
    values: dict[int, Value] = {}
    blocks: dict[int, Block] = {}
    regions: dict[int, list[int]] = {}
    constants = iter(_CONSTANT.findall(module.str_nodebug()))
    printed = _printed(module)
    functions: list[Op] = []

    def value(handle) -> Value:
        return values.setdefault(handle.id(), Value(str(handle.get_type())))

    def block(handle) -> Block:
        if handle.id() not in blocks:
            made = blocks[handle.id()] = Block()
            for i in range(handle.get_num_arguments()):
                made.args.append(value(handle.get_argument(i)))
                m = _NAMED.match(str(handle.get_argument(i).get_loc()))
                made.args[-1].name = (m[1] or "") if m else ""
            regions.setdefault(handle.get_parent().id(), []).append(handle.id())
        return blocks[handle.id()]

    def visit(handle) -> None:
        inner = [blocks[b] for i in range(handle.get_num_regions()) for b in regions.get(handle.get_region(i).id(), [])]
        operands = [value(handle.get_operand(i)) for i in range(handle.get_num_operands())]
        op = Op(handle.get_name(), handle, operands, [], inner)
        for i in range(handle.get_num_results()):
            result = value(handle.get_result(i))
            result.op = op
            op.results.append(result)
            loc = str(handle.get_result(i).get_loc())
            if m := _NAMED.match(loc):
                result.name = m[1] or ""
            op.file, op.line = _place(loc, {})
        if op.results and op.result.elem == "i1":  # arithmetic of one bit
            op.name = {"arith.muli": "arith.andi", "arith.addi": "arith.xori"}.get(op.name, op.name)
        if op.name in printed:
            (op.file, op.line), op.checked, op.text = next(printed[op.name], (("", 0), (), ""))
        for operand in operands:
            operand.users.append(op)
        for b in inner:
            b.parent = op
        if op.name == "arith.constant":
            op.const = _number(next(constants), op.result.elem)
        elif op.name == "tt.func":
            functions.append(op)
        where = handle.get_block()
        if where is not None:
            op.block = block(where)
            op.block.ops.append(op)

    module.walk(visit)
    public = [f for f in functions if f.str("sym_visibility") != "private"]
    _in_one(public[0], str(module))
    return public[0]


def _in_one(func: Op, text: str) -> None:
    """An early return makes several blocks of a kernel. Where the two sides of a branch do not meet again they are one
    again: the shorter side, which ends the program, lies in the branch, whose const is whether it is taken where the
    condition holds. Others stay, and are refused."""
    ways, jumps = (iter(re.findall(rf"cf\.{kind} .*", text)) for kind in ("cond_br", "br"))
    targets: dict[Block, list[Block]] = {}
    for b in func.blocks if len(func.blocks) > 1 else ():
        line = {"cf.cond_br": ways, "cf.br": jumps}.get(b.ops[-1].name)
        targets[b] = [func.blocks[int(n)] for n in re.findall(r"\^bb(\d+)", next(line))] if line else []

    def reached(b: Block) -> set[Block]:
        return {b}.union(*map(reached, targets[b]))

    def plain(b: Block) -> bool:
        """Whether its branches do not meet again, but where the program ends, and hand nothing on."""
        sides = targets[b]
        apart = len(sides) < 2 or all(len(x.ops) == 1 for x in reached(sides[0]) & reached(sides[1]))
        return apart and all(not s.args and plain(s) for s in sides)

    def straight(b: Block, home: Block) -> list[Op]:
        ops, end = b.ops[:-1], b.ops[-1]
        for op in ops:
            op.block = home
        if end.name == "cf.br":
            return ops + straight(targets[b][0], home)
        if end.name == "cf.cond_br":
            lengths = [sum(len(x.ops) for x in reached(s)) for s in targets[b]]
            end.const = lengths[0] <= lengths[1]
            early, late = targets[b] if end.const else targets[b][::-1]
            inside = Block(parent=end)
            inside.ops, end.block, end.blocks = straight(early, inside), home, [inside]
            return [*ops, end, *straight(late, home)]
        end.block = home
        return [*ops, end]

    if targets and plain(func.blocks[0]):
        first = func.blocks[0]
        first.ops[:] = straight(first, first)
        del func.blocks[1:]
