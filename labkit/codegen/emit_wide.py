"""Rows that do not fit UB, as Ascend C: each passes through it in pieces, several times."""

from __future__ import annotations

from labkit.codegen.emit import Printer
from labkit.codegen.ir import WIDE
from labkit.codegen.lines import indented, uses
from labkit.codegen.places import Plan, Section
from labkit.codegen.steps import IDENTITY


class WidePrinter(Printer):
    # ---- WIDE

    def bodies(self) -> list[str]:
        self.text.tall, self.text.wide, self.text.folds = "1", "wide", True
        slots = self.plan.slots
        total = "at.rows" + (" * at.batches" if self.program.batched else "")
        lines = [
            "__aicore__ inline void Run()",
            "{",
            *indented(self.zeros(), 1),
            f"    for (uint32_t slot = 0; slot < {self.plan.slots}; slot++) {{  // at the start all places are free",
            "        SetFlag<HardEvent::V_MTE2>(slot);",
            "        SetFlag<HardEvent::MTE3_V>(slot);",
            "    }",
            f"    for (uint32_t row = GetBlockIdx(); row < {total}; row += GetBlockNum()) Row(PieceOf(row));",
            f"    for (uint32_t left = 0; left < {slots}; left++) {{  // leave no flag set for the next kernel",
            "        WaitFlag<HardEvent::V_MTE2>(left);",
            "        WaitFlag<HardEvent::MTE3_V>(left);",
            "    }",
            "}",
            "",
            "private:",
            "uint32_t slot = 0;",
            "",
            "__aicore__ inline Piece PieceOf(uint32_t row)",
            "{",
            "    Piece p;",
        ]
        if self.program.batched:
            lines += [
                "    uint32_t batch = row / at.rows;",
                "    p.outer = batch / at.inner;",
                "    p.inner = batch % at.inner;",
            ]
        lines += [
            f"    p.row = row{' % at.rows' if self.program.batched else ''};",
            "    p.column = 0;",
            "    p.tall = 1;",
            "    p.wide = LeastOf(at.wide, at.width);",
        ]
        lines += ["    return p;", "}", ""]
        rows, functions = [], []
        for section in self.plan.sections:
            if section.kind == "pass":
                rows += self._pass(section)
                functions += ["", *self._load_pass(section)]
            elif section.kind == "row":
                rows += self._row_columns(section)
            elif section.kind == "after":
                self.text.spread = None
                rows += self._plain_steps(section)
            else:
                rows += self._end(section)
        return [
            *lines,
            "__aicore__ inline void Row(Piece p)",
            "{",
            "    constexpr int32_t high = 64;  // lanes of a number that a row has one of",
            *indented(rows, 1),
            "}",
            *functions,
        ]

    def _plain_steps(self, section: Section) -> list[str]:
        lines = []
        for step in section.steps:
            lines.append(self.declare(step.out, section.place[step.out], "0"))
            lines += self.text.lines(step)
        return lines

    def _row_columns(self, section: Section) -> list[str]:
        """Numbers that a row has one of: they come in before the row does."""
        loads = section.loads()
        if not loads:
            return self._plain_steps(section)
        lines = ["SetFlag<HardEvent::V_MTE2>(2);", "WaitFlag<HardEvent::V_MTE2>(2);"]
        lines += [self.load(s, section.place[s.out], slot="0") for s in loads]
        lines += ["SetFlag<HardEvent::MTE2_V>(2);", "WaitFlag<HardEvent::MTE2_V>(2);"]
        for step in section.steps:
            lines.append(self.declare(step.out, section.place[step.out], "0"))
            if step.op != "load":
                lines += self.text.lines(step)
        return lines

    def _pass(self, section: Section) -> list[str]:
        self.text.spread = None
        reductions = [s for s in section.steps if s.op == "reduce"]
        head = []
        for s in reductions:
            head.append(self.declare(s.out, section.place[s.out], "0"))
            head.append(f"Duplicate({s.out.name}, {IDENTITY[s.mode]}, high);")
        body = self.computed(section, known=tuple(s.out for s in reductions))
        stores = section.stores()
        if stores:
            body += [
                "SetFlag<HardEvent::V_MTE3>(slot);",
                "WaitFlag<HardEvent::V_MTE3>(slot);",
                "p.column = column;",
                "p.wide = wide;",
            ]
            body += [self.store(s, section.place[s.ins[0]]) for s in stores]
            body.append("SetFlag<HardEvent::MTE3_V>(slot);")
        counts = ["uint32_t wide = LeastOf(at.wide, at.width - column), pitch = CeilTo(wide, 64);"]
        if any(uses(line, "n") for line in body):
            counts.append("int32_t n = pitch;")
        load, ahead = f"Load{section.number}(p, 0, slot);", [f"    Load{section.number}(p, column, slot);"]
        if self.plan.slots > 1:
            ahead = [
                "    uint32_t ahead = column + at.wide;  // it comes while this piece is computed",
                f"    if (ahead < at.width) Load{section.number}(p, ahead, 1 - slot);",
            ]
        what = " and ".join(s.out.name for s in reductions) or "the result"
        return [
            "",
            f"// the row's way through UB for {what}",
            *head,
            *([load] if self.plan.slots > 1 else []),
            "for (uint32_t column = 0; column < at.width; column += at.wide) {",
            *ahead,
            *indented(counts, 1),
            "    WaitFlag<HardEvent::MTE2_V>(slot);",
            *indented(body, 1),
            *(["    slot = 1 - slot;"] if self.plan.slots > 1 else []),
            "}",
        ]

    def _load_pass(self, section: Section) -> list[str]:
        loads = [self.load(s, section.place[s.out], column="column", wide="wide") for s in section.loads()]
        return [
            f"__aicore__ inline void Load{section.number}(const Piece& p, uint32_t column, uint32_t slot)",
            "{",
            "    uint32_t wide = LeastOf(at.wide, at.width - column);",
            "    WaitFlag<HardEvent::V_MTE2>(slot);",
            *indented(loads, 1),
            "    SetFlag<HardEvent::MTE2_V>(slot);",
            "}",
        ]

    def _end(self, section: Section) -> list[str]:
        lines = ["SetFlag<HardEvent::V_MTE3>(2);", "WaitFlag<HardEvent::V_MTE3>(2);"]
        lines += [self.store(s, self.plan.place[s.ins[0]], slot="0") for s in section.steps]
        return [
            *lines,
            "SetFlag<HardEvent::MTE3_V>(2);",
            "WaitFlag<HardEvent::MTE3_V>(2);  // before the next row's numbers take the place",
        ]


def source(plan: Plan) -> str:
    """The file of a planned program."""
    return (WidePrinter if plan.program.shape == WIDE else Printer)(plan).source()
