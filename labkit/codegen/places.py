"""Where each value of a program lives in UB, and how large a tile may be.

One rule for all tiles: a row begins at a multiple of 64 elements (`pitch`), whatever its type. So a repeat of the
vector unit never holds two rows, a row of every type begins at 32 bytes, and comparisons get the whole repeats that
they ask for. Of many rows of at most 32 elements that would waste most lanes: those begin at every 8, 16 or 32 elements
(`narrow`), and a repeat holds several; tiles are then worked on in whole eights of rows.

Values are given places in the order of the steps; a place is given out again after its value's last use, to the very
step that uses it last where the instruction allows that. What is copied in and out has two places each, so that the
next tile comes in and the last one goes out while this one is computed. Two float operands of one instruction lie 256
bytes apart in the bank groups: each place has a colour, its address modulo 512.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit import chips
from labkit.codegen.ir import BINARY, COLUMN, DOWN, FULL, ROW, SIZES, WIDE, Program, Step, Tensor, Value, refuse

SLOTS = 2  # places for what is copied in and out, where nobody says otherwise
ORDERS = ("across", "down")  # in which cores take tiles: one row of them after the other, or one column
LANES = 64  # elements to which rows are rounded up: a repeat of float
LINE = 512  # bytes after which the bank groups repeat
MOST_REPEATS = 248  # that one instruction takes for rows, rounded down to eights: Brcb takes eight rows a repeat
MOST_ROWS = 4095  # of one DataCopyPad
LEAST_TILE = 512
SPARE = 1024  # bytes for what aligns places
NARROW = (8, 16, 32)  # elements
STEP = 256  # tiles are multiples of it: then bits, too, begin at 32 bytes


@dataclass(eq=False)
class Place:
    """Of a value, or of several one after the other. colour: its address modulo 512 is 256 times that; None: any.
    each: bytes for an element of the tile, or (of a column) for a row."""

    name: str
    dtype: str
    column: bool = False
    slots: int = 1
    colour: int | None = None
    tensor: Tensor | None = None

    @property
    def each(self) -> float:
        return SIZES[self.dtype]


@dataclass(eq=False)
class Section:
    """Steps that stand one behind the other. kind: "setup", "tile"; of WIDE "row", "pass", "after"."""

    kind: str
    steps: list[Step] = field(default_factory=list)
    number: int = 0
    place: dict[Value, Place] = field(default_factory=dict)

    def loads(self) -> list[Step]:
        return [s for s in self.steps if s.op == "load"]

    def stores(self) -> list[Step]:
        return [s for s in self.steps if s.op == "store"]


@dataclass(eq=False)
class Plan:
    """place: of each value. parts: bytes an element for what reductions need; blocks: whether columns are spread.
    tile, tall: elements and rows that fit. narrow: elements from row to row, 0 where those are whole repeats.
    slots: places of what is copied; order: one of ORDERS."""

    program: Program
    sections: list[Section]
    place: dict[Value, Place]
    places: list[Place]
    tile: int = 0
    tall: int = 0
    blocks: bool = False
    used: int = 0
    narrow: int = 0
    slots: int = SLOTS
    order: str = ORDERS[0]

    def section(self, kind: str) -> Section | None:
        return next((s for s in self.sections if s.kind == kind), None)


def plan(
    program: Program, chip: str = chips.DEFAULT, narrow: int = 0, slots: int = SLOTS, order: str = ORDERS[0]
) -> Plan:
    """narrow: as narrow_pitch() has it. slots: 2, or 1 for tiles twice as long that do not overlap.
    Raises Refused where not even a small tile fits."""
    if slots not in (1, SLOTS) or order not in ORDERS:
        raise refuse("way", slots=slots, order=order)
    sections = sections_of(program)
    made = _Places(program, sections, slots)
    result = Plan(program, sections, made.place, made.all, narrow=narrow, slots=slots, order=order)
    result.blocks = any(spreads(s) for s in program.steps)
    memory = chips.load(chip)["memory"]
    selects = any(s.op == "select" for s in program.steps)  # Select works in the API's own area at the end of UB
    budget = memory["ub"] - (memory["ub_reserved"] if selects else 0) - SPARE
    tile = int(budget / max(result_bytes(result), 1)) // STEP * STEP
    if program.shape == WIDE:
        tile = min(tile, 16320 // STEP * STEP)  # an instruction takes 255 repeats of a row
    while tile >= LEAST_TILE:
        result.tile = tile
        result.tall = _rows_of(result, tile)
        result.used = size(result)
        if result.used <= budget:
            return result
        tile -= STEP
    raise refuse("ub", name=program.name, bytes=int(result_bytes(result)), tile=LEAST_TILE, ub=memory["ub"])


def _rows_of(made: Plan, tile: int) -> int:
    if made.program.shape == WIDE:
        return 1
    columns = made.blocks or rows_reduced(made.program) or any(p.column for p in made.places)
    if made.narrow:
        return min(tile // made.narrow, MOST_REPEATS * LANES // made.narrow if columns else MOST_ROWS // 8 * 8)
    return min(tile // LANES, MOST_REPEATS if columns else MOST_ROWS)


def pitch(plan: Plan, wide: int) -> int:
    """From row to row in UB, in elements, of a tile of that many columns."""
    return plan.narrow or up(wide, LANES)


def narrow_pitch(program: Program, rows: int, width: int) -> int:
    """From row to row in UB, in elements, where many rows are so short that several share a repeat; else 0."""
    if program.shape in (WIDE, DOWN) or rows <= 8 or width > NARROW[-1]:
        return 0
    return next(n for n in narrow_pitches(program) if n >= width)


def narrow_pitches(program: Program) -> list[int]:
    """Those at which a row of every type begins at 32 bytes."""
    ends = [t.dtype for t in (*program.inputs, *program.outputs) if t.kind == FULL]
    return [n for n in NARROW if all(n * SIZES[d] >= 32 for d in ends)]


def rows_reduced(program: Program) -> bool:
    """Whether reductions need a place for parts of rows; those of columns work where their result is."""
    return program.reduces and program.shape != DOWN


def result_bytes(made: Plan) -> float:
    """UB bytes for each element of a tile."""
    return sum(p.slots * p.each for p in made.places if not p.column) + (1 if rows_reduced(made.program) else 0)


def up(n: float, to: int) -> int:
    return -(-int(n) // to) * to


def size(made: Plan) -> int:
    total = sum(up(p.slots * p.each * made.tile, 32) for p in made.places if not p.column)
    total += sum(p.slots * column_bytes(p, made.tall, made.narrow) for p in made.places if p.column)
    if made.blocks:
        total += up(made.tall, 8) * 32
    if rows_reduced(made.program):
        total += made.tile
    return total + 2 * LINE


def column_bytes(place: Place, tall: int, narrow: int = 0) -> int:
    """Of one slot: whole repeats, and of more than 248 rows whole blocks of bits."""
    return up(place.each * up(tall, 256 if narrow else LANES), 32)


def spreads(step: Step) -> bool:
    """A column is laid out as blocks of eight equal numbers: to be widened, or as an operand beside a FULL tile."""
    if step.op == "expand_one" or (step.op == "expand" and step.ins[0].kind == COLUMN):
        return True
    kinds = {v.kind for v in step.ins}
    return step.op in BINARY and kinds == {FULL, COLUMN}


# ---- sections


def sections_of(program: Program) -> list[Section]:
    if program.shape != WIDE:
        setup = Section("setup", [s for s in program.steps if s.out is not None and s.out.hoisted])
        tile = Section("tile", [s for s in program.steps if s.out is None or not s.out.hoisted])
        return [s for s in (setup, tile) if s.steps]
    return _passes(program)


def _passes(program: Program) -> list[Section]:
    """A pass for all reductions that wait for the same earlier ones; what they need is computed anew in each."""
    level: dict[Value, int] = {}
    made = {s.out: s for s in program.steps if s.out is not None}
    for s in program.steps:
        if s.out is not None:
            level[s.out] = max((level[v] for v in s.ins), default=0) + (s.op == "reduce")

    def full_ancestors(goals: list[Step]) -> list[Step]:
        wanted: set[Step] = set()
        stack = list(goals)
        while stack:
            step = stack.pop()
            if step in wanted:
                continue
            wanted.add(step)
            stack += [made[v] for v in step.ins if v.kind == FULL]
        return [s for s in program.steps if s in wanted]

    def is_column(s: Step) -> bool:
        return s.out is not None and s.out.kind == COLUMN and s.op != "reduce"

    found = [Section("row", [s for s in program.steps if is_column(s) and level[s.out] == 0])]
    reductions = [s for s in program.steps if s.op == "reduce"]
    for number in range(max((level[s.out] for s in reductions), default=0)):
        now = [s for s in reductions if level[s.ins[0]] == number]
        found.append(Section("pass", full_ancestors(now), number))
        found.append(
            Section("after", [s for s in program.steps if is_column(s) and level[s.out] == number + 1], number)
        )
    stores = [s for s in program.steps if s.op == "store" and s.ins[0].kind == FULL]
    if stores:
        found.append(Section("pass", full_ancestors(stores), len(found) // 2))
    ends = [s for s in program.steps if s.op == "store" and s.ins[0].kind == COLUMN]
    if ends:
        found.append(Section("end", ends))
    return found


# ---- places


IN_PLACE = {
    "exp",
    "ln",
    "sqrt",
    "abs",
    "relu",
    "adds",
    "muls",
    "maxs",
    "mins",
    "add",
    "sub",
    "mul",
    "div",
    "max",
    "min",
}


class _Places:
    def __init__(self, program: Program, sections: list[Section], slots: int = SLOTS):
        self.program, self.slots = program, slots
        self.made = {s.out: s for s in program.steps if s.out is not None}
        self.place: dict[Value, Place] = {}
        self.all: list[Place] = []
        self.inputs: dict[Tensor, Place] = {}
        self.free: list[Place] = []  # temporaries of FULL and ROW values, to be given out
        self.count: dict[str, int] = {}
        self.named: dict[str, Tensor] = {}  # who has a name
        self.ends = {s.ins[0]: s.tensor for x in sections if x.kind == "end" for s in x.steps}
        for section in sections:
            self._section(section)
            section.place = {s.out: self.place[s.out] for s in section.steps if s.out is not None}
            self._give_back_all()

    def _new(self, prefix: str, dtype: str, column=False, slots=1, colour=None, tensor=None) -> Place:
        number = self.count.get(prefix, 0)
        self.count[prefix] = number + 1
        made = Place(prefix if tensor else f"{prefix}{number}", dtype, column, slots, colour, tensor)
        self.all.append(made)
        return made

    def _give_back_all(self) -> None:
        self.free = [p for p in self.all if p.name[0] in "TM" and not p.column and p.tensor is None]

    def _section(self, section: Section) -> None:
        last: dict[Value, int] = {}
        for i, step in enumerate(section.steps):
            for v in step.ins:
                last[v] = i
        stored = {s.ins[0]: s.tensor for s in section.stores()} | self.ends
        holds: dict[Place, Value] = {}  # who is in it now
        for i, step in enumerate(section.steps):
            if step.out is not None:
                self._settle(section, step, i, last, stored, holds)
            for v in dict.fromkeys(step.ins):
                place = self.place.get(v)
                if last[v] == i and place is not None and holds.get(place) is v and self._is_temporary(place):
                    del holds[place]
                    self.free.append(place)

    def _is_temporary(self, place: Place) -> bool:
        return place.name[0] in "TMC" and place.tensor is None

    def _settle(self, section, step, i, last, stored, holds) -> None:
        v = step.out
        if v in self.place and v.kind == FULL and self.program.shape == WIDE:  # of an earlier pass
            del self.place[v]
        if step.op == "load" and not v.hoisted:
            self.place[v] = self._input(step.tensor, v)
        elif v in stored:
            self.place[v] = self._output(stored[v], v)
        elif v.hoisted:
            self.place[v] = self._kept(section, step)
        elif v.kind == COLUMN:
            self.place[v] = self._column(v)
        else:
            self.place[v] = self._in_place(step, i, last, holds) or self._temporary(v)
        holds[self.place[v]] = v

    def _name(self, tensor: Tensor, end: str) -> str:
        """Of tensors whose names differ in case only the second one's is numbered."""
        name, number = f"{tensor.name.upper()}_{end}", 2
        while self.named.setdefault(name, tensor) is not tensor:
            name, number = f"{tensor.name.upper()}_{number}_{end}", number + 1
        return name

    def _input(self, tensor: Tensor, v: Value) -> Place:
        if tensor not in self.inputs:
            self.inputs[tensor] = self._new(
                self._name(tensor, "IN"),
                v.dtype,
                v.kind == COLUMN,
                self.slots,
                0 if SIZES[v.dtype] == 4 else None,
                tensor,
            )
        return self.inputs[tensor]

    def _output(self, tensor: Tensor, v: Value) -> Place:
        return self._new(self._name(tensor, "OUT"), v.dtype, v.kind == COLUMN, self.slots, self._colour(v), tensor)

    def _kept(self, section: Section, step: Step) -> Place:
        v = step.out
        if v in self.place:  # as its load had it
            return self.place[v]
        own = [u for u in v.users if u in section.steps]
        if len(own) < len(v.users) or v.kind == COLUMN:  # tiles read it too
            return self._new("K", v.dtype, v.kind == COLUMN, colour=self._colour(v))
        if v.tensor is not None and SIZES[v.dtype] == 4 and v.kind == ROW and [u.op for u in own] == ["expand"]:
            place = self._new("K", v.dtype, colour=self._colour(own[0].out))  # widened where it comes in
            self.place[own[0].out] = place
            return place
        return self._temporary(v)

    def _column(self, v: Value) -> Place:
        if v.dtype != "bits" and self.program.shape != WIDE:
            for place in self.free:
                if place.column and place.name[0] == "C" and place.dtype == v.dtype:
                    self.free.remove(place)
                    return place
        return self._new("C" if v.dtype != "bits" else "N", v.dtype, column=True)

    def _in_place(self, step: Step, i: int, last: dict, holds: dict) -> Place | None:
        """The place of an operand that is used for the last time."""
        v = step.out
        if step.op not in IN_PLACE:
            return None
        for operand in step.ins:
            place = self.place.get(operand)
            if (
                last.get(operand) == i
                and operand.kind == v.kind
                and operand.dtype == v.dtype
                and not operand.hoisted
                and place is not None
                and holds.get(place) is operand
                and not (place.tensor is not None and "_OUT" in place.name)
            ):
                return place
        return None

    def _temporary(self, v: Value) -> Place:
        bits = v.dtype == "bits"
        dtype = "bits" if bits else "f32"
        fitting = [p for p in self.free if not p.column and (p.dtype == "bits") == bits and p.name[0] in "TM"]
        colour = None if bits else self._colour(v)
        best = next((p for p in fitting if p.colour == colour or colour is None), fitting[0] if fitting else None)
        if best is not None:
            self.free.remove(best)
            return best
        return self._new("M" if bits else "T", dtype, colour=None if bits else (colour or 0))

    def _colour(self, v: Value) -> int | None:
        """The other one than that of the operand that it will stand beside, it or what is computed in its place."""
        if SIZES[v.dtype] != 4 or v.kind == COLUMN:
            return None
        while len(v.users) == 1 and len(v.users[0].ins) == 1 and v.users[0].op in IN_PLACE:
            v = v.users[0].out
        for user in v.users:
            for other in user.ins:
                if other is not v and other.kind == FULL and other.dtype != "bits":
                    place = self._home(other)
                    if place is not None and place.colour is not None:
                        return 1 - place.colour
        return 0

    def _home(self, v: Value) -> Place | None:
        """The place of a value, or that of the operand in whose place it will probably be computed."""
        while v not in self.place:
            step = self.made[v]
            if step.op not in IN_PLACE or step.ins[0].kind != v.kind:
                return None
            v = step.ins[0]
        return self.place[v]
