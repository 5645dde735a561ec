"""A planned tile program as Ascend C: a file that one can read, change and build."""

from __future__ import annotations

from labkit.codegen import helpers
from labkit.codegen.ir import COLUMN, DOWN, FULL, ONE, PIECES, ROW, ROWS, SIZES, WIDE, Program, Step, Tensor, Value
from labkit.codegen.lines import camel, comment, indented, uses
from labkit.codegen.places import Place, Plan, Section, rows_reduced
from labkit.codegen.steps import CTYPE, Text

POSITION = {"IN": "VECIN", "OUT": "VECOUT"}


def fields(program: Program) -> list[tuple[str, str]]:
    """(name, what it is) of the tiling struct, all uint32_t, in order."""
    made = [("rows", "of one batch"), ("width", "columns of a row")]
    if program.batched:
        made += [("batches", "how many times those rows"), ("inner", "batches of the inner one of two loops")]
    made += [("tall", "rows of a tile, at most"), ("wide", "columns of a tile, at most")]
    made += [("down", "tiles one below the other"), ("across", "tiles side by side")]
    for t in (*program.inputs, *program.outputs):
        if t.kind == FULL:
            made.append((f"{t.name}Row", f"from row to row of {t.name}, in elements"))
        if program.batched:
            made += [(f"{t.name}Inner", "from batch to batch"), (f"{t.name}Outer", "from outer batch to outer batch")]
    return made


class Printer:
    def __init__(self, plan: Plan):
        self.plan, self.program = plan, plan.program
        self.name = camel(self.program.name) + "Kernel"  # a bare Silu, or Softmax, is a name of AscendC's
        self.narrow = plan.narrow
        self.text = Text(bool(self.narrow))
        self.bits = "COLUMN / 8" if self.narrow else "32"  # bytes of a column of bits
        self.members: list[str] = []  # tensors that live as long as the kernel
        self.body: list[str] = []

    # ---- the file

    def source(self) -> str:
        bodies = self.bodies()
        names = set(self.text.helpers) | {"Zero"}
        infinite = any("INFINITE" in line for line in bodies)
        lines = [
            f"// {self.program.title or self.program.name}",
            "//",
            *comment(self._about()),
            '#include "kernel_operator.h"',
            "using namespace AscendC;",
            "",
            *helpers.source(names, self.narrow, infinite).splitlines(),
            "",
            *self._struct(),
            "",
            *self._layout(),
            "",
            *self._piece(),
            "",
            f"class {self.name} {{",
            *self._fields(),
            "",
            "public:",
            *indented(self._init(), 1),
            "",
            *indented(bodies, 1),
            "};",
            "",
            *self._entry(),
        ]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _about(self) -> str:
        p = self.program
        how = {
            ROWS: "A tile holds whole rows; cores take tiles in turn.",
            DOWN: "A tile holds whole columns, as many side by side as fit; cores take tiles in turn.",
            PIECES: "A tile is a piece of the tensor, several rows or a part of one; cores take tiles in turn.",
            WIDE: "A row does not fit UB: it passes in pieces, once for each reduction that waits for another and once "
            "for the result. Cores take rows in turn.",
        }[p.shape]
        beside = (
            "The next tile comes in while one is computed and the last one goes out: two places each, one flag "
            "for each."
            if self.plan.slots > 1
            else "One place each, so that a tile is as long as can be; nothing comes in while one is computed."
        )
        return (
            f"{how} {beside} All is computed in float; 16-bit types are widened where they come in and rounded once, "
            f"where they go out. In UB a row begins at a multiple of {self.narrow or 64} elements. Written by "
            "labkit.codegen; change it as you like."
        )

    def _struct(self) -> list[str]:
        listed = fields(self.program)
        width = max(len(n) for n, _ in listed) + 1
        return [
            f"struct {self.name}Tiling {{  // computed on the host, from the shapes",
            *(f"    uint32_t {n + ';':<{width}}  // {what}" for n, what in listed),
            "};",
        ]

    def _layout(self) -> list[str]:
        plan = self.plan
        lines = [
            f"constexpr uint32_t TILE = {plan.tile};  // elements of a tile: as many as UB takes",
            f"constexpr uint32_t TALL = {plan.tall};  // rows of a tile, at most",
            "",
            "// Where things are in UB, in bytes. Floats that one instruction reads lie in different bank groups.",
        ]
        at = "0"

        def put(name: str, bytes_: str, what: str) -> None:
            nonlocal at
            lines.append(f"constexpr uint32_t {name} = {at};" + (f"  // {what}" if what else ""))
            at = f"{name} + {bytes_}"

        columns = [p for p in plan.places if p.column]
        if columns:
            whole = "(TALL + 255) / 256 * 256" if self.narrow else "(TALL + 63) / 64 * 64"
            lines.append(f"constexpr uint32_t COLUMN = {whole};  // numbers, one for each row")
        tiles = [p for p in plan.places if not p.column]
        for colour in (0, 1):
            group = [p for p in tiles if SIZES[p.dtype] == 4 and p.colour == colour]
            for i, p in enumerate(group):
                if i == 0 and colour == 1:
                    at = f"{at} + 256"
                put(
                    p.name,
                    f"{p.slots} * TILE * 4" if p.slots > 1 else "TILE * 4",
                    CTYPE[p.dtype] + (", two of them" if p.slots > 1 else ""),
                )
        for p in (p for p in tiles if SIZES[p.dtype] != 4):
            each = "TILE / 8" if p.dtype == "bits" else f"TILE * {int(SIZES[p.dtype])}" if p.dtype != "u8" else "TILE"
            what = "bits" if p.dtype == "bits" else CTYPE[p.dtype]
            put(p.name, f"{p.slots} * {each}" if p.slots > 1 else each, what + (", two of them" if p.slots > 1 else ""))
        if rows_reduced(self.program):
            put("PARTS", "TILE", "what reductions need")
        if plan.blocks:
            put("BLOCKS", "(TALL + 7) / 8 * 256", "a column, each number eight times")
        for i, p in enumerate(columns):
            if i == 0:
                put("COLUMNS", "0", "numbers for each row, from here on")
            each = self.bits if p.dtype == "bits" else f"COLUMN * {int(SIZES[p.dtype])}"
            put(p.name, f"{p.slots} * {each}" if p.slots > 1 else each, "")
        lines.append(f"constexpr uint32_t UB_END = {at};")
        return lines

    def _piece(self) -> list[str]:
        batch = ["    uint32_t outer, inner;  // which batch"] if self.program.batched else []
        return [
            "struct Piece {  // the part of the tensors that a tile is",
            *batch,
            "    uint32_t row, column, tall, wide;",
            "};",
        ]

    def _fields(self) -> list[str]:
        lines = [
            f"    GlobalTensor<{CTYPE[t.dtype]}> {t.name}Gm;" for t in (*self.program.inputs, *self.program.outputs)
        ]
        lines.append(f"    {self.name}Tiling at;")
        reduces = rows_reduced(self.program)
        if self.plan.blocks or reduces:
            names = [n for n, used in (("parts", reduces), ("blocks", self.plan.blocks)) if used]
            lines.append(f"    LocalTensor<float> {', '.join(names)};")
        if self.members:
            lines.append("    // the same for all tiles")
            lines += [f"    {m}" for m in self.members]
        return lines

    def _init(self) -> list[str]:
        p = self.program
        arguments = ", ".join(f"GM_ADDR {t.name}" for t in (*p.inputs, *p.outputs))
        lines = [f"__aicore__ inline {self.name}({arguments}, const {self.name}Tiling& tiling) : at(tiling)", "{"]
        lines += [
            f"    {t.name}Gm.SetGlobalBuffer((__gm__ {CTYPE[t.dtype]}*){t.name});" for t in (*p.inputs, *p.outputs)
        ]
        if rows_reduced(p):
            lines.append("    parts = LocalTensor<float>(TPosition::VECCALC, PARTS, TILE / 4);")
        if self.plan.blocks:
            lines.append("    blocks = LocalTensor<float>(TPosition::VECCALC, BLOCKS, (TALL + 7) / 8 * 64);")
        return [*lines, "}"]

    def _entry(self) -> list[str]:
        p = self.program
        tensors = (*p.inputs, *p.outputs)
        arguments = ", ".join(f"GM_ADDR {t.name}" for t in tensors)
        return [
            f'extern "C" __global__ __aicore__ void {p.name}({arguments}, {self.name}Tiling tiling)',
            "{",
            "    InitSocState();",
            f"    {self.name} op({', '.join(t.name for t in tensors)}, tiling);",
            "    op.Run();",
            "}",
        ]

    # ---- pieces of text

    def local(self, v: Value, place: Place, slot: str = "slot") -> str:
        """The tensor of a value."""
        count = "TILE" if not place.column else "COLUMN"
        count = f"{count} / 8" if v.dtype == "bits" and not place.column else self.bits if v.dtype == "bits" else count
        position = next(
            (POSITION[e] for e in POSITION if place.tensor is not None and place.name.endswith(f"_{e}")), "VECCALC"
        )
        where = place.name
        if place.slots > 1 and slot != "0":
            each = (
                self.bits
                if place.dtype == "bits"
                else f"{'COLUMN' if place.column else 'TILE'} * {int(SIZES[place.dtype])}"
            )
            where = f"{place.name} + {slot} * {each}"
        return f"LocalTensor<{CTYPE[v.dtype]}>(TPosition::{position}, {where}, {count})"

    def declare(self, v: Value, place: Place, slot: str = "slot") -> str:
        made = self.local(v, place, slot)
        kind, _, rest = made.partition("(")
        return f"{kind} {v.name}({rest};"

    def offset(self, t: Tensor, row: str = "p.row", column: str = "p.column", p: str = "p") -> str:
        """Where a piece of a tensor begins in GM, in elements."""
        terms = []
        if t.batched:
            terms += [
                f"static_cast<uint64_t>({p}.outer) * at.{t.name}Outer",
                f"static_cast<uint64_t>({p}.inner) * at.{t.name}Inner",
            ]
        if t.kind == FULL:
            terms.append(f"static_cast<uint64_t>({row}) * at.{t.name}Row")
        if t.kind == COLUMN:
            terms.append(row)
        if t.kind in (FULL, ROW):
            terms.append(column)
        return " + ".join(x for x in terms if x != "0") or "0"

    def pitch_of(self, wide: str) -> str:
        return "PITCH" if self.narrow else f"CeilTo({wide}, 64)"

    def count_of(self, tall: str, wide: str) -> str:
        """Elements of a tile that instructions work on."""
        return f"CeilTo({tall}, 8) * PITCH" if self.narrow else f"{tall} * {wide}"

    def load(
        self,
        step: Step,
        place: Place,
        p: str = "p",
        slot: str = "slot",
        column: str | None = None,
        wide: str | None = None,
    ) -> str:
        t = step.tensor
        to = self.local(step.out, place, slot)
        source = f"{t.name}Gm[{self.offset(t, f'{p}.row', column or f'{p}.column', p)}]"
        wide = wide or f"{p}.wide"
        if t.kind == FULL:
            return f"LoadRows({to}, {source}, {p}.tall, {wide}, at.{t.name}Row, {self.pitch_of(wide)});"
        count = {ROW: wide, COLUMN: f"{p}.tall", ONE: "1"}[t.kind]
        return f"LoadRows({to}, {source}, 1, {count}, {count}, {count});"

    def store(self, step: Step, place: Place, p: str = "p", slot: str = "slot") -> str:
        t = step.tensor
        source = self.local(step.ins[0], place, slot)
        to = f"{t.name}Gm[{self.offset(t, f'{p}.row', f'{p}.column', p)}]"
        if t.kind == FULL:
            return f"StoreRows({to}, {source}, {p}.tall, {p}.wide, at.{t.name}Row, {self.pitch_of(f'{p}.wide')});"
        count = f"{p}.wide" if t.kind == ROW else f"{p}.tall"
        return f"StoreRows({to}, {source}, 1, {count}, {count}, {count});"

    def computed(self, section: Section, slot: str = "slot", known: tuple = ()) -> list[str]:
        """The section's steps in order, each group under what it stands for, and the flags of what is copied."""
        lines: list[str] = []
        note = None
        inputs = {p for p in section.place.values() if p.tensor is not None and p.name.endswith("_IN")}
        touches = [
            i
            for i, s in enumerate(section.steps)
            if s.op not in ("load", "store") and any(section.place.get(v) in inputs for v in (*s.ins, s.out))
        ]
        writes = [i for i, s in enumerate(section.steps) if s.out is not None and self._goes_out(section.place[s.out])]
        for i, step in enumerate(section.steps):
            if step.op == "load":
                if step.out not in known:
                    lines.append(self.declare(step.out, section.place[step.out], slot))
                continue
            if step.op == "store":
                continue
            if i == (writes[0] if writes else None):
                lines.append(f"WaitFlag<HardEvent::MTE3_V>({slot});  // the place of the result is free again")
            if step.note != note and step.note:
                note = step.note
                lines.append(f"// {note}")
            if step.out not in known:
                place = section.place[step.out]
                shared = [v for v in step.ins if section.place.get(v) is place and v.dtype == step.out.dtype]
                made = (
                    f"LocalTensor<{CTYPE[step.out.dtype]}> {step.out.name} = {shared[0].name};  // in its place"
                    if shared
                    else self.declare(step.out, place, slot)
                )
                lines.append(made)
            lines += self.text.lines(step)
            if touches and i == touches[-1]:
                lines.append(f"SetFlag<HardEvent::V_MTE2>({slot});  // the next tile may come")
        if not touches:
            lines.append(f"SetFlag<HardEvent::V_MTE2>({slot});")
        return lines

    def _goes_out(self, place: Place) -> bool:
        """Whether it is the place of a result that is stored with the tile; WIDE stores columns after the row."""
        return (
            place.tensor is not None
            and place.name.endswith("_OUT")
            and not (place.column and self.program.shape == WIDE)
        )

    # ---- ROWS and PIECES

    def bodies(self) -> list[str]:
        setup, tile = self.plan.section("setup"), self.plan.section("tile")
        lines = self._run(setup is not None)
        lines += ["", "private:", *self._tile_of(), ""]
        lines += self._load_tile(tile) + [""]
        self.text.spread = None
        lines += self._compute(tile) + [""]
        lines += self._store_tile(tile)
        if setup is not None:
            lines += ["", *self._setup(setup)]
        return lines

    def zeros(self) -> list[str]:
        """What is set once, so that nothing is read that was never written."""
        lines = []
        if any(p.column for p in self.plan.places):
            lines.append("LocalTensor<float> columns(TPosition::VECCALC, COLUMNS, (UB_END - COLUMNS) / 4);")
            lines.append("Duplicate(columns, 0.0f, static_cast<int32_t>((UB_END - COLUMNS) / 4));")
        inputs = [p for p in self.plan.places if p.tensor is not None and p.name.endswith("_IN") and not p.column]
        if inputs:
            always = "{  // rows do not fill their places"
            lines.append(always if self.narrow else f"if (at.wide % 64 != 0 || at.width % 64 != 0) {always}")
            for p in inputs:
                ctype = CTYPE[p.dtype]
                lines.append(f"    for (uint32_t slot = 0; slot < {self.plan.slots}; slot++) {{")
                where = f"{p.name} + slot * TILE * {int(SIZES[p.dtype])}"
                count = self.count_of("at.tall", "CeilTo(at.wide, 64)")
                lines.append(f"        Zero(LocalTensor<{ctype}>(TPosition::VECIN, {where}, TILE), {count});")
                lines.append("    }")
            lines.append("}")
        return lines

    def _run(self, setup: bool) -> list[str]:
        total = "at.down * at.across" + (" * at.batches" if self.program.batched else "")
        slots = self.plan.slots
        turn = [
            "uint32_t ahead = tile + GetBlockNum();  // it comes in while this one is computed",
            "if (ahead < tiles) Load(TileOf(ahead), 1 - slot);",
            "Piece piece = TileOf(tile);",
            "Compute(piece, slot);",
            "Store(piece, slot);",
            "slot = 1 - slot;",
        ]
        if self.plan.slots == 1:
            turn = ["Piece piece = TileOf(tile);", "Load(piece, slot);", *turn[3:5]]
        return [
            "__aicore__ inline void Run()",
            "{",
            *indented(self.zeros(), 1),
            *(["    Setup();"] if setup else []),
            f"    for (uint32_t slot = 0; slot < {self.plan.slots}; slot++) {{  // at the start all places are free",
            "        SetFlag<HardEvent::V_MTE2>(slot);",
            "        SetFlag<HardEvent::MTE3_V>(slot);",
            "    }",
            f"    uint32_t slot = 0, tiles = {total};",
            *(["    if (GetBlockIdx() < tiles) Load(TileOf(GetBlockIdx()), 0);"] if self.plan.slots > 1 else []),
            "    for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {",
            *indented(turn, 2),
            "    }",
            f"    for (uint32_t left = 0; left < {slots}; left++) {{  // leave no flag set for the next kernel",
            "        WaitFlag<HardEvent::V_MTE2>(left);",
            "        WaitFlag<HardEvent::MTE3_V>(left);",
            "    }",
            "}",
        ]

    def _tile_of(self) -> list[str]:
        batched = self.program.batched
        column, row, inner, outer = "    p.column = {} * at.wide;", "    p.row = {} * at.tall;", "across", "down"
        if self.plan.order == "down":
            column, row, inner, outer = row, column, outer, inner
        lines = ["__aicore__ inline Piece TileOf(uint32_t tile)", "{", "    Piece p;"]
        lines.append(column.format(f"tile % at.{inner}"))
        if batched:
            lines += [
                f"    uint32_t next = tile / at.{inner}, batch = next / at.{outer};",
                row.format(f"next % at.{outer}"),
            ]
            lines += ["    p.outer = batch / at.inner;", "    p.inner = batch % at.inner;"]
        else:
            lines.append(row.format(f"tile / at.{inner}"))
        lines += [
            "    p.tall = LeastOf(at.tall, at.rows - p.row);",
            "    p.wide = LeastOf(at.wide, at.width - p.column);",
            "    return p;",
            "}",
        ]
        return lines

    def _load_tile(self, tile: Section) -> list[str]:
        loads = [self.load(s, tile.place[s.out]) for s in tile.loads()]
        return [
            "__aicore__ inline void Load(const Piece& p, uint32_t slot)",
            "{",
            "    WaitFlag<HardEvent::V_MTE2>(slot);",
            *indented(loads, 1),
            "    SetFlag<HardEvent::MTE2_V>(slot);",
            "}",
        ]

    def _compute(self, tile: Section) -> list[str]:
        steps = self.computed(tile)
        names = {"n": self.count_of("piece.tall", "pitch"), "high": "CeilTo(piece.tall, 64)"}
        counts = [f"    int32_t {n} = {value};" for n, value in names.items() if any(uses(line, n) for line in steps)]
        return [
            "__aicore__ inline void Compute(const Piece& piece, uint32_t slot)",
            "{",
            *([] if self.narrow else ["    uint32_t pitch = CeilTo(piece.wide, 64);"]),
            *counts,
            "    WaitFlag<HardEvent::MTE2_V>(slot);",
            *indented(steps, 1),
            "    SetFlag<HardEvent::V_MTE3>(slot);",
            "}",
        ]

    def _store_tile(self, tile: Section) -> list[str]:
        stores = [self.store(s, tile.place[s.ins[0]]) for s in tile.stores()]
        return [
            "__aicore__ inline void Store(const Piece& p, uint32_t slot)",
            "{",
            "    WaitFlag<HardEvent::V_MTE3>(slot);",
            *indented(stores, 1),
            "    SetFlag<HardEvent::MTE3_V>(slot);",
            "}",
        ]

    def _setup(self, setup: Section) -> list[str]:
        """Hoisted steps. What tiles use becomes a member."""
        self.text.tall, self.text.spread = "at.tall", None
        known = []
        for step in setup.steps:
            if any(u not in setup.steps for u in step.out.users):
                known.append(step.out)
                self.members.append(f"LocalTensor<{CTYPE[step.out.dtype]}> {step.out.name};")
        lines, note = [], None
        for step in setup.steps:
            if step.note and step.note != note:
                note = step.note
                lines.append(f"// {note}")
            place = setup.place[step.out]
            lines.append(
                f"{step.out.name} = {self.local(step.out, place, '0')};"
                if step.out in known
                else self.declare(step.out, place, "0")
            )
            if step.op == "load":
                ready = [] if place.column else [f"Zero({step.out.name}, CeilTo(at.width, 64));"]
                lines += [
                    *ready,
                    "SetFlag<HardEvent::V_MTE2>(0);",
                    "WaitFlag<HardEvent::V_MTE2>(0);",
                    self.load(step, place, slot="0", column="0", wide="at.width"),
                    "SetFlag<HardEvent::MTE2_V>(0);",
                    "WaitFlag<HardEvent::MTE2_V>(0);",
                ]
            else:
                lines += self.text.lines(step)
        names = {
            "pitch": "CeilTo(at.width, 64)",
            "n": self.count_of("at.tall", "CeilTo(at.width, 64)"),
            "high": "CeilTo(at.tall, 64)",
        }
        counts = [f"    int32_t {n} = {value};" for n, value in names.items() if any(uses(line, n) for line in lines)]
        return [
            "__aicore__ inline void Setup()  // what is the same for all tiles",
            "{",
            *counts,
            *indented(lines, 1),
            "}",
        ]
