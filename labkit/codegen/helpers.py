"""The small functions that a generated kernel begins with: only those that it calls are written into it."""

from __future__ import annotations

from labkit.codegen.steps import IDENTITY

COUNTS = """\
constexpr uint64_t LANES = 64;  // float in one repeat of the vector unit

__aicore__ inline uint32_t CeilTo(uint32_t a, uint32_t b) { return (a + b - 1) / b * b; }
__aicore__ inline uint32_t LeastOf(uint32_t a, uint32_t b) { return a < b ? a : b; }
"""

ROWS = """\

// tall x wide elements between GM, whose rows lie `apart`, and UB, where they lie `pitch`. Rows that touch on both
// sides go as one. Behind the end of what is loaded come zeros up to 32 bytes.
template <typename T>
__aicore__ inline void LoadRows(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t tall, uint32_t wide,
                                uint32_t apart, uint32_t pitch)
{
    constexpr uint32_t BLOCK = 32 / sizeof(T);
    if (tall == 1 || (apart == wide && pitch == wide)) {
        wide *= tall;
        apart = pitch = wide;
        tall = 1;
    }
    uint32_t filled = CeilTo(wide, BLOCK), gap = pitch > filled ? (pitch - filled) / BLOCK : 0;
    DataCopyPad(to, from, DataCopyExtParams(tall, wide * sizeof(T), (apart - wide) * sizeof(T), gap, 0),
                DataCopyPadExtParams<T>(true, 0, static_cast<uint8_t>(filled - wide), 0));
}
template <typename T>
__aicore__ inline void StoreRows(const GlobalTensor<T>& to, const LocalTensor<T>& from, uint32_t tall, uint32_t wide,
                                 uint32_t apart, uint32_t pitch)
{
    constexpr uint32_t BLOCK = 32 / sizeof(T);
    if (tall == 1 || (apart == wide && pitch == wide)) {
        wide *= tall;
        apart = pitch = wide;
        tall = 1;
    }
    uint32_t filled = CeilTo(wide, BLOCK), gap = pitch > filled ? (pitch - filled) / BLOCK : 0;
    DataCopyPad(to, from, DataCopyExtParams(tall, wide * sizeof(T), gap, (apart - wide) * sizeof(T), 0));
}
"""

ZERO = """\
// Where rows do not fill their place, instructions read what lies behind their end: here it becomes zeros, once.
template <typename T> __aicore__ inline void Zero(const LocalTensor<T>& x, uint32_t count)
{
    int32_t pairs = static_cast<int32_t>(count * sizeof(T) / 2);
    Duplicate(x.template ReinterpretCast<int16_t>(), static_cast<int16_t>(0), pairs);
}
"""

INFINITE = "constexpr float INFINITE = __builtin_inff();\n"

SPREAD = """\
// Each number of a column eight times, a block of 32 bytes.
template <typename T>
__aicore__ inline void Spread(const LocalTensor<T>& blocks, const LocalTensor<T>& column, uint32_t tall)
{
    Brcb(blocks, column, static_cast<uint8_t>(CeilTo(tall, 8) / 8), BrcbRepeatParams(1, 8));
}
"""

REPEAT_ROW = """\
// One row into all of them: what is there doubles with every copy.
template <typename T>
__aicore__ inline void RepeatRow(const LocalTensor<T>& to, const LocalTensor<T>& row, uint32_t tall, uint32_t pitch)
{
    if (to.GetPhyAddr() != row.GetPhyAddr()) Adds(to, row, static_cast<T>(0), static_cast<int32_t>(pitch));
    for (uint32_t have = 1; have < tall; have *= 2) {
        Adds(to[have * pitch], to, static_cast<T>(0), static_cast<int32_t>(LeastOf(have, tall - have) * pitch));
    }
}
"""

FILL_FROM = """\
// The first number of `one`, everywhere.
template <typename T>
__aicore__ inline void FillFrom(const LocalTensor<T>& to, const LocalTensor<T>& one, const LocalTensor<T>& blocks,
                                uint32_t count)
{
    Brcb(blocks, one, 1, BrcbRepeatParams(1, 8));
    Adds(to, blocks, static_cast<T>(0), LANES, static_cast<uint8_t>(count / 64), UnaryRepeatParams(1, 0, 8, 0));
}
"""

WIDEN_COLUMN = """\
// A column, given as blocks, over all columns of a tile: 64 columns of all rows, or a row, in an instruction.
template <typename T>
__aicore__ inline void WidenColumn(const LocalTensor<T>& y, const LocalTensor<T>& blocks, uint32_t tall, uint32_t pitch)
{
    uint32_t groups = pitch / 64, row = pitch / 8;
    if (groups <= tall && row <= 255) {
        for (uint32_t g = 0; g < groups; g++) {
            Adds(y[g * 64], blocks, static_cast<T>(0), LANES, static_cast<uint8_t>(tall),
                 UnaryRepeatParams(1, 0, static_cast<uint8_t>(row), 1));
        }
        return;
    }
    for (uint32_t r = 0; r < tall; r++) {
        for (uint32_t g = 0; g < groups; g += 255) {
            uint8_t times = static_cast<uint8_t>(LeastOf(255, groups - g));
            Adds(y[r * pitch + g * 64], blocks[r * 8], static_cast<T>(0), LANES, times, UnaryRepeatParams(1, 0, 8, 0));
        }
    }
}
"""

_BESIDE = """\
// y = {formula}, where c has one number for each row, given as blocks: 64 columns of all rows, or a row, in an
// instruction.
__aicore__ inline void {name}(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& c,
                              uint32_t tall, uint32_t pitch)
{{
    uint32_t groups = pitch / 64, row = pitch / 8;
    if (groups <= tall && row <= 255) {{
        uint8_t next = static_cast<uint8_t>(row);
        for (uint32_t g = 0; g < groups; g++) {{
            {op}(y[g * 64], {first_all}, LANES, static_cast<uint8_t>(tall), BinaryRepeatParams({strides_all}));
        }}
        return;
    }}
    for (uint32_t r = 0; r < tall; r++) {{
        for (uint32_t g = 0; g < groups; g += 255) {{
            uint32_t at = r * pitch + g * 64;
            uint8_t times = static_cast<uint8_t>(LeastOf(255, groups - g));
            {op}(y[at], {first_row}, LANES, times, BinaryRepeatParams({strides_row}));
        }}
    }}
}}
"""

_REDUCE = """\
// {what} of each row. Behind a row's end comes what changes nothing; eight numbers of a block become one, then what is
// left of a row.
__aicore__ inline void {op}OfRows(const LocalTensor<float>& to, const LocalTensor<float>& x,
                                 const LocalTensor<float>& parts, uint32_t tall, uint32_t wide, uint32_t pitch)
{{
    if (wide % 64 != 0) {{
        uint64_t behind[2] = {{~0ull << (wide % 64), 0}};
        if (pitch / 8 <= 255) {{
            uint8_t next = static_cast<uint8_t>(pitch / 8);
            Duplicate(x[pitch - 64], {identity}, behind, static_cast<uint8_t>(tall), 1, next);
        }} else {{
            for (uint32_t r = 0; r < tall; r++) Duplicate(x[r * pitch + pitch - 64], {identity}, behind, 1, 1, 8);
        }}
    }}
    if (pitch == 64) {{
        WholeReduce{op}<float>(to, x, 64, static_cast<int32_t>(tall), 1, 1, 8{order});
        return;
    }}
    uint32_t repeats = tall * pitch / 64;
    for (uint32_t at = 0; at < repeats; at += 255) {{
        int32_t times = static_cast<int32_t>(LeastOf(255, repeats - at));
        BlockReduce{op}<float>(parts[at * 8], x[at * 64], times, 64, 1, 1, 8);
    }}
    if (pitch <= 512) {{
        int32_t left = static_cast<int32_t>(pitch / 8), next = static_cast<int32_t>(pitch / 64);
        WholeReduce{op}<float>(to, parts, left, static_cast<int32_t>(tall), 1, 1, next{order});
        return;
    }}
    LocalTensor<float> scratch = parts[tall * pitch / 8];
    for (uint32_t r = 0; r < tall; r++) {{
        Reduce{op}(to[r], parts[r * pitch / 8], scratch, static_cast<int32_t>(pitch / 8));
    }}
}}
"""

_REDUCE_DOWN = """\
// {what} of each column: the lower half of the rows goes into the upper one until one is left; a middle row waits.
template <typename T>
__aicore__ inline void {op}OfColumns(const LocalTensor<T>& to, const LocalTensor<T>& x, uint32_t tall, uint32_t pitch)
{{
    uint32_t lower = tall / 2, upper = tall - lower;
    if (lower > 0) {fold}(to, x, x[upper * pitch], static_cast<int32_t>(lower * pitch));
    if (upper > lower) Adds(to[lower * pitch], x[lower * pitch], static_cast<T>(0), static_cast<int32_t>(pitch));
    for (; upper > 1; upper -= lower) {{
        lower = upper / 2;
        {fold}(to, to, to[(upper - lower) * pitch], static_cast<int32_t>(lower * pitch));
    }}
}}
"""

# ---- of narrow rows: several in a repeat, eight at a time


_PITCH = """\
constexpr uint32_t PITCH = {pitch};  // elements from row to row in UB: several rows share a repeat

"""

_WIDEN_NARROW = """\
// A column, given as blocks, over all columns of a tile: 8 columns of all rows in an instruction, 8 rows in a repeat.
template <typename T>
__aicore__ inline void WidenColumn(const LocalTensor<T>& y, const LocalTensor<T>& blocks, uint32_t tall, uint32_t pitch)
{
    uint8_t eights = static_cast<uint8_t>(CeilTo(tall, 8) / 8);
    for (uint32_t g = 0; g < pitch; g += 8) {
        Adds(y[g], blocks, static_cast<T>(0), LANES, eights, UnaryRepeatParams(PITCH / 8, 1, PITCH, 8));
    }
}
"""

_BESIDE_NARROW = """\
// y = {formula}, where c has one number for each row, given as blocks: 8 columns of all rows in an instruction, 8 rows
// in a repeat.
__aicore__ inline void {name}(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& c,
                              uint32_t tall, uint32_t pitch)
{{
    uint8_t eights = static_cast<uint8_t>(CeilTo(tall, 8) / 8);
    for (uint32_t g = 0; g < pitch; g += 8) {{
        {op}(y[g], {both}, LANES, eights, BinaryRepeatParams(PITCH / 8, {strides}));
    }}
}}
"""

_REDUCE_NARROW = """\
// {what} of each row. Behind a row's end comes what changes nothing; the blocks of a row become one, and its eight
// numbers one.
__aicore__ inline void {op}OfRows(const LocalTensor<float>& to, const LocalTensor<float>& x,
                                 const LocalTensor<float>& parts, uint32_t tall, uint32_t wide, uint32_t pitch)
{{
    uint32_t eights = CeilTo(tall, 8) / 8;
    if (wide != PITCH) {{
        uint64_t behind[2] = {{0, 0}};  // of the rows in a repeat
        for (uint32_t row = 0; row < 64; row += PITCH) behind[0] |= ((1ull << (PITCH - wide)) - 1) << (row + wide);
        Duplicate(x, {identity}, behind, static_cast<uint8_t>(eights * PITCH / 8), 1, 8);
    }}
    if (PITCH == 8) {{
        BlockReduce{op}<float>(to, x, static_cast<int32_t>(eights), 64, 1, 1, 8);
        return;
    }}
    uint32_t most = parts.GetSize() / 64;  // eights that have room there
    for (uint32_t at = 0; at < eights; at += most) {{
        uint32_t now = LeastOf(most, eights - at);
        LocalTensor<float> first = x[at * 8 * PITCH];
        {fold}(parts, first, first[8], LANES, static_cast<uint8_t>(now),
            BinaryRepeatParams(1, PITCH / 8, PITCH / 8, 8, PITCH, PITCH));
        for (uint32_t g = 16; g < PITCH; g += 8) {{
            {fold}(parts, parts, first[g], LANES, static_cast<uint8_t>(now),
                BinaryRepeatParams(1, 1, PITCH / 8, 8, 8, PITCH));
        }}
        BlockReduce{op}<float>(to[at * 8], parts, static_cast<int32_t>(now), 64, 1, 1, 8);
    }}
}}
"""

_FORMULA = {
    "Add": "x + c",
    "Sub": "x - c",
    "Mul": "x * c",
    "Div": "x / c",
    "Max": "the larger of x and c",
    "Min": "the smaller of x and c",
}


def _beside(op: str, column_first: bool) -> str:
    all_rows, one_row = ["x[g * 64]", "c"], ["x[at]", "c[r * 8]"]
    everywhere, in_row = [("1", "next"), ("0", "1")], [("1", "8"), ("0", "0")]
    formula = _FORMULA[op]
    if column_first:
        for pair in (all_rows, one_row, everywhere, in_row):
            pair.reverse()
        formula = formula[::-1]

    def strides(row: str, pairs: list) -> str:
        return ", ".join(["1", pairs[0][0], pairs[1][0], row, pairs[0][1], pairs[1][1]])

    return _BESIDE.format(
        name=f"Column{op}" if column_first else f"{op}Column",
        op=op,
        formula=formula,
        first_all=", ".join(all_rows),
        first_row=", ".join(one_row),
        strides_all=strides("next", everywhere),
        strides_row=strides("8", in_row),
    )


def text(name: str, narrow: int = 0) -> str:
    """The source of one helper; narrow: for rows that begin at every so many elements."""
    fixed = {
        "Spread": SPREAD,
        "RepeatRow": REPEAT_ROW,
        "FillFrom": FILL_FROM,
        "WidenColumn": WIDEN_COLUMN,
        "Zero": ZERO,
    }
    if narrow:
        fixed["WidenColumn"] = _WIDEN_NARROW
    if name in fixed:
        return fixed[name]
    if name.endswith("OfRows"):
        op = name.removesuffix("OfRows")
        return (_REDUCE_NARROW if narrow else _REDUCE).format(
            op=op,
            fold="Add" if op == "Sum" else op,
            what={"Sum": "The sum", "Max": "The largest", "Min": "The smallest"}[op],
            identity=IDENTITY[op.lower()],
            order="" if op == "Sum" else ", ReduceOrder::ORDER_ONLY_VALUE",
        )
    if name.endswith("OfColumns"):
        op = name.removesuffix("OfColumns")
        what = {"Sum": "The sum", "Max": "The largest", "Min": "The smallest"}[op]
        return _REDUCE_DOWN.format(op=op, what=what, fold="Add" if op == "Sum" else op)
    first = name.startswith("Column")
    op = name.removeprefix("Column").removesuffix("Column")
    if not narrow:
        return _beside(op, first)
    return _BESIDE_NARROW.format(
        name=name,
        op=op,
        formula=_FORMULA[op][::-1] if first else _FORMULA[op],
        both="c, x[g]" if first else "x[g], c",
        strides="1, PITCH / 8, PITCH, 8, PITCH" if first else "PITCH / 8, 1, PITCH, PITCH, 8",
    )


def source(names: set[str], narrow: int = 0, infinite: bool = False, rows: bool = True) -> str:
    """All of `names`, each behind those that it calls. infinite: the kernel's own lines name INFINITE; rows: they call
    LoadRows or StoreRows."""
    used = [text(n, narrow) for n in sorted(names, key=lambda n: (n not in ("Spread", "Zero"), n))]
    first = INFINITE + "\n" if infinite or any("INFINITE" in t for t in used) else ""
    pitch = _PITCH.format(pitch=narrow) if narrow else ""
    return first + pitch + "\n".join([COUNTS + (ROWS if rows else ""), *used])
