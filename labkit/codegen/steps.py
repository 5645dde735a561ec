"""Each step of a tile program as vector instructions: their text, and how many cycles they take.

Text writes them; Cost counts them, as (instructions, cycles of their repeats), by the cycles of the chip's table.
The two must be changed together; tests hold them against the twin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.codegen.ir import BINARY, COLUMN, FULL, REDUCE, ROW, SCALAR, SIZES, UNARY, Step, Value
from labkit.codegen.places import LANES, spreads, up

CTYPE = {"f32": "float", "i32": "int32_t", "f16": "half", "bf16": "bfloat16_t", "u8": "uint8_t", "bits": "uint8_t"}
INSTRUCTION = {**{op: op.capitalize() for op in (*UNARY, *SCALAR, *BINARY)}, "and": "And", "or": "Or", "not": "Not"}
# to the nearest with ties to even, as PyTorch rounds; towards zero for integers; nothing is lost by widening
ROUND = {
    ("f32", "f16"): "CAST_RINT",
    ("f32", "bf16"): "CAST_RINT",
    ("f32", "i32"): "CAST_TRUNC",
    ("i32", "f32"): "CAST_RINT",
    ("f16", "u8"): "CAST_RINT",
}


@dataclass(frozen=True)
class Tile:
    """The sizes that a step's cost depends on."""

    tall: int
    wide: int
    narrow: int = 0  # see places.py
    fold: int = 0  # narrow: rows that are reduced together

    @property
    def pitch(self) -> int:
        return self.narrow or up(self.wide, LANES)

    def count(self, kind: str) -> int:
        full = up(self.tall, 8) * self.narrow or self.tall * self.pitch
        return {FULL: full, ROW: up(self.pitch, LANES), COLUMN: up(self.tall, LANES)}[kind]


def number(value: float | int | str, dtype: str = "f32") -> str:
    """As C++ writes it; a string is an expression already."""
    if isinstance(value, str):
        return value
    if dtype == "i32":
        value = (int(value) + 2**31) % 2**32 - 2**31  # as PyTorch takes one that no int32_t holds
        # C++ reads a minus and 2147483648, which is a long: no scalar of an int32_t tensor
        return "(-2147483647 - 1)" if value == -(2**31) else str(value)
    value = float(value)
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "-INFINITE" if value < 0 else "INFINITE"
    text = f"{value:.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


class Text:
    """Writes the steps of one section. helpers: what of helpers.py they use; spread: the column that BLOCKS holds."""

    def __init__(self, narrow: bool = False, tall: str = "piece.tall", wide: str = "piece.wide"):
        self.narrow, self.tall, self.wide, self.pitch = narrow, tall, wide, "PITCH" if narrow else "pitch"
        self.counts = {FULL: "n", ROW: "64" if narrow else "pitch", COLUMN: "high"}
        self.helpers: set[str] = set()
        self.folds = False  # a row comes in pieces: what a piece gives is added to what is there
        self.spread: Value | None = None

    def lines(self, step: Step) -> list[str]:
        made = getattr(self, f"_{step.op}", self._plain)(step)
        if self.spread is not None and step.out is not None and step.out is self.spread:
            self.spread = None
        return made

    def _blocks(self, column: Value) -> list[str]:
        """The column in BLOCKS, where it is not there yet."""
        if self.spread is column:
            return []
        self.spread = column
        self.helpers.add("Spread")
        blocks = "blocks" if column.dtype == "f32" else "blocks.ReinterpretCast<int32_t>()"
        return [f"Spread({blocks}, {column.name}, {self.tall});"]

    def _plain(self, step: Step) -> list[str]:
        out, ins, n = step.out, step.ins, self.counts[step.out.kind]
        name = INSTRUCTION[step.op]
        if spreads(step):
            first = ins[0].kind == COLUMN
            column, full = (ins[0], ins[1]) if first else (ins[1], ins[0])
            helper = f"Column{name}" if first and step.op in ("sub", "div") else f"{name}Column"
            self.helpers.add(helper)
            return [*self._blocks(column), f"{helper}({out.name}, {full.name}, blocks, {self.tall}, {self.pitch});"]
        operands = [v.name for v in ins]
        if step.op in SCALAR:
            operands.append(number(step.scalar, out.dtype))
        return [f"{name}({', '.join([out.name, *operands, n])});"]

    def _bits(self, step: Step) -> list[str]:
        names = [f"{v.name}.ReinterpretCast<uint16_t>()" for v in (step.out, *step.ins)]
        return [f"{INSTRUCTION[step.op]}({', '.join(names)}, {self.counts[step.out.kind]} / 16);"]

    _and = _or = _not = _bits

    def _fill(self, step: Step) -> list[str]:
        return [f"Duplicate({step.out.name}, {number(step.scalar, step.out.dtype)}, {self.counts[step.out.kind]});"]

    def _copy(self, step: Step) -> list[str]:
        x, out, n = step.ins[0], step.out, self.counts[step.out.kind]
        if SIZES[x.dtype] == 4:
            return [f"Adds({out.name}, {x.name}, {number(0, x.dtype)}, {n});"]
        if SIZES[x.dtype] == 2:  # bits, so that bfloat16 goes the same way
            return [
                f"Adds({out.name}.ReinterpretCast<int16_t>(), {x.name}.ReinterpretCast<int16_t>(), "
                f"static_cast<int16_t>(0), {n});"
            ]
        return [
            f"Or({out.name}.ReinterpretCast<uint16_t>(), {x.name}.ReinterpretCast<uint16_t>(), "
            f"{x.name}.ReinterpretCast<uint16_t>(), {n} / 2);"
        ]

    def _cast(self, step: Step) -> list[str]:
        x, out = step.ins[0], step.out
        how = ROUND.get((x.dtype, out.dtype), "CAST_NONE")
        return [f"Cast({out.name}, {x.name}, RoundMode::{how}, {self.counts[out.kind]});"]

    def _compare(self, step: Step) -> list[str]:
        out, n = step.out, self.counts[step.out.kind]
        mode = f"CMPMODE::{step.mode}"
        if step.scalar is not None:
            return [f"CompareScalar({out.name}, {step.ins[0].name}, {number(step.scalar)}, {mode}, {n});"]
        return [f"Compare({out.name}, {step.ins[0].name}, {step.ins[1].name}, {mode}, {n});"]

    def _select(self, step: Step) -> list[str]:
        bits, a, out, n = step.ins[0], step.ins[1], step.out, self.counts[step.out.kind]
        if step.scalar is not None:
            return [
                f"Select({out.name}, {bits.name}, {a.name}, {number(step.scalar)}, "
                f"SELMODE::VSEL_TENSOR_SCALAR_MODE, {n});"
            ]
        b, cast = step.ins[2], ".ReinterpretCast<float>()" if out.dtype == "i32" else ""  # moved, not looked at
        return [
            f"Select({out.name}{cast}, {bits.name}, {a.name}{cast}, {b.name}{cast}, "
            f"SELMODE::VSEL_TENSOR_TENSOR_MODE, {n});"
        ]

    def _expand(self, step: Step) -> list[str]:
        x, out = step.ins[0], step.out
        if x.kind == ROW:
            self.helpers.add("RepeatRow")
            tall = f"CeilTo({self.tall}, 8)" if self.narrow else self.tall
            return [f"RepeatRow({out.name}, {x.name}, {tall}, {self.pitch});"]
        self.helpers.add("WidenColumn")
        blocks = "blocks" if x.dtype == "f32" else "blocks.ReinterpretCast<int32_t>()"
        return [*self._blocks(x), f"WidenColumn({out.name}, {blocks}, {self.tall}, {self.pitch});"]

    def _expand_one(self, step: Step) -> list[str]:
        self.helpers.add("FillFrom")
        self.spread = None
        blocks = "blocks" if step.out.dtype == "f32" else "blocks.ReinterpretCast<int32_t>()"
        return [f"FillFrom({step.out.name}, {step.ins[0].name}, {blocks}, high);"]

    def _reduce(self, step: Step) -> list[str]:
        if step.out.kind == ROW:
            self.helpers.add(f"{step.mode.capitalize()}OfColumns")
            x, out = step.ins[0].name, step.out.name
            return [f"{step.mode.capitalize()}OfColumns({out}, {x}, {self.tall}, {self.pitch});"]
        helper = f"{step.mode.capitalize()}OfRows"
        self.helpers.add(helper)
        to = "parts[TILE / 4 - 64]" if self.folds else step.out.name
        lines = [f"{helper}({to}, {step.ins[0].name}, parts, {self.tall}, {self.wide}, {self.pitch});"]
        if self.folds:
            fold = {"sum": "Add", "max": "Max", "min": "Min"}[step.mode]
            lines.append(f"{fold}({step.out.name}, {step.out.name}, {to}, 1);")
        return lines


# ---- cost


class Cost:
    """Cycles of the vector unit, by a chip's table."""

    def __init__(self, table: dict):
        vector = table["vector"]
        self.cycles, self.startup, self.repeat = vector["cycles"], vector["startup"], vector["repeat_bytes"]

    def of(self, instruction: str, dtype: str = "f32") -> float:
        found = self.cycles.get(instruction, self.cycles["default"])
        return found.get(dtype, self.cycles["default"]) if isinstance(found, dict) else found

    def one(self, instruction: str, count: int, dtype: str = "f32") -> tuple[int, float]:
        """(instructions, cycles of their repeats) of one by count."""
        return 1, max(1, math.ceil(count * SIZES[dtype] / self.repeat)) * self.of(instruction, dtype)

    def step(self, step: Step, tile: Tile) -> tuple[int, float]:
        """(instructions, cycles of their repeats), without what starting each costs."""
        op, out = step.op, step.out
        n = tile.count(out.kind)
        if op == "reduce":
            return self._reduce(step, tile)
        if op == "expand" and step.ins[0].kind == ROW:
            doublings = max(1, math.ceil(math.log2(max(tile.tall, 1))) + 1)
            return doublings, n / LANES
        if op == "expand_one":
            return 2, 2 * self.of("Brcb")
        if op == "expand" or spreads(step):
            name = "Adds" if op == "expand" else INSTRUCTION[op]
            return self._column(tile, self.of(name))
        if op in ("and", "or", "not"):
            return self.one(INSTRUCTION[op], max(1, n // 16), "f16")
        if op == "cast":
            wider = max((out.dtype, step.ins[0].dtype), key=lambda t: SIZES[t])
            return self.one("Cast", n, wider)
        if op == "compare":
            return self.one("Compare" if step.scalar is None else "CompareScalar", n)
        name = {"fill": "Duplicate", "copy": "Adds", "select": "Select"}.get(op) or INSTRUCTION[op]
        return self.one(name, n, out.dtype if out.dtype in ("f16", "bf16", "u8") else "f32")

    def _column(self, tile: Tile, each: float) -> tuple[int, float]:
        if tile.narrow:  # a block of all rows in an instruction
            eights, blocks = math.ceil(tile.tall / 8), tile.narrow // 8
            return 1 + blocks, eights * blocks * each + eights * self.of("Brcb")
        groups = tile.pitch // LANES
        by_columns = groups <= tile.tall and tile.pitch // 8 <= 255
        instructions = groups if by_columns else tile.tall * math.ceil(groups / 255)
        return 1 + instructions, tile.tall * groups * each + math.ceil(tile.tall / 8) * self.of("Brcb")

    def _reduce(self, step: Step, tile: Tile) -> tuple[int, float]:
        if step.out.kind == ROW:
            halvings = max(1, math.ceil(math.log2(max(tile.tall, 1)))) + tile.tall % 2
            return halvings, max(tile.tall - 1, 1) * tile.pitch / LANES
        if tile.narrow:
            return self._reduce_narrow(step.mode.capitalize(), tile)
        name, groups = step.mode.capitalize(), tile.pitch // LANES
        count, cycles = 0, 0.0
        if tile.wide % LANES:
            count, cycles = 1, float(tile.tall)
        blocks = tile.tall * groups
        if groups == 1:
            return count + 1, cycles + tile.tall * self.of(f"WholeReduce{name}")
        count += math.ceil(blocks / 255)
        cycles += blocks * self.of(f"BlockReduce{name}")
        if groups <= 8:
            return count + 1, cycles + tile.tall * self.of(f"WholeReduce{name}")
        return count + tile.tall, cycles + tile.tall * math.ceil(tile.pitch / 8 / LANES) * self.of(f"Reduce{name}")

    def _reduce_narrow(self, name: str, tile: Tile) -> tuple[int, float]:
        eights, blocks, fill = math.ceil(tile.tall / 8), tile.narrow // 8, tile.wide != tile.narrow
        times = math.ceil(tile.tall / tile.fold) if blocks > 1 else 1
        folds = self.of({"Sum": "Add"}.get(name, name)) * (blocks - 1)
        return fill + times * blocks, eights * (fill * blocks + folds + self.of(f"BlockReduce{name}"))


IDENTITY = {op: number(value) for op, value in REDUCE.items()}
