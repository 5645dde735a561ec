"""The small functions that a lowered kernel begins with: only those that it calls are written into it."""

from __future__ import annotations

from labkit.codegen import helpers as codegen

SYNC = """\
template <HardEvent EVENT> __aicore__ inline void Sync()  // the second pipe waits for the first
{
    event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(EVENT));
    SetFlag<EVENT>(id);
    WaitFlag<EVENT>(id);
}
"""

CLAMP = """\
__aicore__ inline int32_t Within(int64_t count, int32_t most)
{
    return count < 0 ? 0 : count < most ? static_cast<int32_t>(count) : most;
}
"""

ROWS = """\
// tall x wide elements of GM, whose rows lie `apart`, and of UB, where they lie `pitch`: DataCopyPad's numbers.
template <typename T>
__aicore__ inline DataCopyExtParams RowsIn(uint32_t tall, uint32_t wide, int64_t apart, uint32_t pitch)
{
    uint32_t bytes = wide * sizeof(T), gap = tall > 1 ? (pitch * sizeof(T) - CeilTo(bytes, 32)) / 32 : 0;
    return DataCopyExtParams(tall, bytes, tall > 1 ? (apart - wide) * sizeof(T) : 0, gap, 0);
}
template <typename T>
__aicore__ inline DataCopyExtParams RowsOut(uint32_t tall, uint32_t wide, int64_t apart, uint32_t pitch)
{
    uint32_t bytes = wide * sizeof(T), gap = tall > 1 ? (pitch * sizeof(T) - CeilTo(bytes, 32)) / 32 : 0;
    return DataCopyExtParams(tall, bytes, gap, tall > 1 ? (apart - wide) * sizeof(T) : 0, 0);
}
// `fill` behind each row's end, up to 32 bytes.
template <typename T> __aicore__ inline DataCopyPadExtParams<T> Behind(uint32_t wide, T fill)
{
    return DataCopyPadExtParams<T>(true, 0, static_cast<uint8_t>(CeilTo(wide, 32 / sizeof(T)) - wide), fill);
}
"""

FILL_BEHIND = """\
__aicore__ inline uint64_t BitsFrom(uint32_t low, uint32_t high, uint32_t skipped = 0)  // bits low .. high, exclusive
{
    low = low > skipped ? low - skipped : 0;
    high = high > skipped ? high - skipped : 0;
    if (low >= 64 || low >= high) return 0;
    return (high >= 64 ? ~0ull : (1ull << high) - 1) & (~0ull << low);
}
// `value` in the lanes from `wide` on of each of `tall` rows, which lie `pitch` apart.
template <typename T>
__aicore__ inline void FillBehind(const LocalTensor<T>& x, T value, uint32_t tall, uint32_t wide, uint32_t pitch)
{
    constexpr uint32_t each = 256 / sizeof(T), most = 255;  // lanes and blocks of a repeat and between two
    const bool together = tall > 1 && tall <= most && pitch * sizeof(T) / 32 <= most;
    for (uint32_t r = 0; r < tall; r += together ? tall : 1) {
        for (uint32_t at = wide; at < pitch;) {
            const uint32_t begin = at / each * each, end = LeastOf(begin + each, pitch);
            if (at == begin && !together) {
                Duplicate(x[r * pitch + at], value, static_cast<int32_t>(pitch - at));
                break;
            }
            uint64_t lanes[2] = {BitsFrom(at - begin, end - begin), BitsFrom(at - begin, end - begin, 64)};
            Duplicate(x[r * pitch + begin], value, lanes, static_cast<uint8_t>(together ? tall : 1), 1,
                      static_cast<uint8_t>(together ? pitch * sizeof(T) / 32 : 8));
            at = end;
        }
    }
}
"""

PUT = """\
// One element of UB to GM, by way of `one`: to the byte, so that a neighbour's element stays what it is.
template <typename T>
__aicore__ inline void Put(const GlobalTensor<T>& to, const LocalTensor<T>& one, T value)
{
    one.SetValue(0, value);
    Sync<HardEvent::S_MTE3>();
    DataCopyPad(to, one, DataCopyExtParams(1, sizeof(T), 0, 0, 0));
    Sync<HardEvent::MTE3_S>();
}
"""

TAKE = """\
// One element of GM by way of `one`: the scalar unit's own cache may hold an older one.
template <typename T> __aicore__ inline T Take(const GlobalTensor<T>& from, const LocalTensor<T>& one)
{
    DataCopyPad(one, from, DataCopyExtParams(1, sizeof(T), 0, 0, 0), DataCopyPadExtParams<T>(false, 0, 0, 0));
    Sync<HardEvent::MTE2_S>();
    return one.GetValue(0);
}
"""

QUOTIENT = """\
template <typename T> __aicore__ inline T Quotient(T a, T b)  // lanes that are masked off may hold a zero
{
    if (b == 0) return 0;
    if (T(-1) < 0 && b == T(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
    return a / b;
}
"""

REST = """\
template <typename T> __aicore__ inline T Rest(T a, T b)
{
    return b == 0 || (T(-1) < 0 && b == T(-1)) ? 0 : a % b;
}
"""

HIGH_WORD = """\
__aicore__ inline uint64_t HighWord(uint64_t a, uint64_t b)  // the upper 64 bits of a product, by halves
{
    const uint64_t low = 0xFFFFFFFF, al = a & low, ah = a >> 32, bl = b & low, bh = b >> 32;
    const uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & low);
    return ah * bh + (middle >> 32) + (other >> 32);
}
"""

UPPER_PRODUCT = """\
// to = the upper 32 bits of a * b, from four products of 16 bits; x, y, z have room for as much.
__aicore__ inline void UpperProduct(const LocalTensor<uint32_t>& to, const LocalTensor<uint32_t>& a,
                                    const LocalTensor<uint32_t>& b, const LocalTensor<uint32_t>& x,
                                    const LocalTensor<uint32_t>& y, const LocalTensor<uint32_t>& z, uint32_t count)
{
    auto n = [](const LocalTensor<uint32_t>& t) { return t.ReinterpretCast<int32_t>(); };
    auto low = [&](const LocalTensor<uint32_t>& t, const LocalTensor<uint32_t>& of) {
        ShiftLeft(t, of, static_cast<uint32_t>(16), count);
        ShiftRight(t, t, static_cast<uint32_t>(16), count);
    };
    low(x, a);
    ShiftRight(y, b, static_cast<uint32_t>(16), count);
    Mul(n(z), n(x), n(y), count);  // the lower half of a, the upper of b
    low(y, b);
    Mul(n(x), n(x), n(y), count);  // both lower halves
    ShiftRight(x, x, static_cast<uint32_t>(16), count);
    Add(n(z), n(z), n(x), count);
    low(x, b);
    ShiftRight(y, a, static_cast<uint32_t>(16), count);
    Mul(n(x), n(x), n(y), count);  // the upper half of a, the lower of b
    low(y, z);
    Add(n(x), n(x), n(y), count);
    ShiftRight(x, x, static_cast<uint32_t>(16), count);
    ShiftRight(z, z, static_cast<uint32_t>(16), count);
    Add(n(x), n(x), n(z), count);
    ShiftRight(y, a, static_cast<uint32_t>(16), count);
    ShiftRight(z, b, static_cast<uint32_t>(16), count);
    Mul(n(y), n(y), n(z), count);  // both upper halves
    Add(n(to), n(x), n(y), count);
}
"""

SORT = """\
template <typename T> __aicore__ inline bool Below(T a, T b)
{
    if constexpr (IsSameType<T, half>::value) return static_cast<float>(a) < static_cast<float>(b);
    else if constexpr (IsSameType<T, bfloat16_t>::value) return ToFloat(a) < ToFloat(b);
    else return a < b;
}
// Sorts count elements that lie `apart`; pieces of 1, 2, 4, ... are merged through `work`.
template <typename T>
__aicore__ inline void SortLanes(const LocalTensor<T>& x, const LocalTensor<T>& work, int32_t count, int32_t apart,
                                 bool down)
{
    for (int32_t width = 1; width < count; width *= 2) {
        for (int32_t low = 0; low < count; low += 2 * width) {
            const int32_t middle = low + width < count ? low + width : count;
            const int32_t high = low + 2 * width < count ? low + 2 * width : count;
            int32_t a = low, b = middle;
            for (int32_t i = low; i < high; i++) {
                bool left = a < middle;
                if (left && b < high) {
                    T one = x.GetValue(a * apart), other = x.GetValue(b * apart);
                    left = down ? !Below(one, other) : !Below(other, one);
                }
                work.SetValue(i, x.GetValue((left ? a++ : b++) * apart));
            }
        }
        for (int32_t i = 0; i < count; i++) x.SetValue(i * apart, work.GetValue(i));
    }
}
"""

BITS_AS = """\
template <typename To, typename From> __aicore__ inline To BitsAs(From x)
{
    union { From from; To to; } bits{x};
    return bits.to;
}
"""

_FOLD = """\
// {what} of a row's integers: halves go into halves, the last sixteen are taken by the scalar unit.
__aicore__ inline int32_t Fold{name}(const LocalTensor<int32_t>& x, uint32_t count)
{{
    uint32_t left = count;
    for (; left > 16; left /= 2) {op}(x, x, x[left / 2], static_cast<int32_t>(left / 2));
    Sync<HardEvent::V_S>();
    int32_t a = x.GetValue(0);
    for (uint32_t i = 1; i < left; i++) {{
        int32_t b = x.GetValue(i);
        a = {formula};
    }}
    return a;
}}
"""

CUBE_SYNC = """\
template <HardEvent EVENT> __aicore__ inline void Sync()  // the second pipe waits for the first
{
    SetFlag<EVENT>(0);
    WaitFlag<EVENT>(0);
}
"""

COPY_TO_L1 = """\
// rows x columns of GM into L1 as NZ, from its row `first` on, where high x wide have room; zeros where there is
// nothing to copy. panel: so many rows after each other are an NZ of their own; 0: all of them.
template <typename T>
__aicore__ inline void CopyToL1(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t rows, uint32_t columns,
                                int64_t stride, uint16_t high, uint32_t wide, uint32_t first = 0, uint32_t panel = 0)
{
    uint16_t tall = panel > 0 ? panel : high;
    if (rows < high || columns < wide) {
        uint16_t blocks = high * wide * sizeof(T) / 32;
        Fill(to.template ReinterpretCast<int16_t>(), InitConstValueParams<int16_t>(1, blocks, 0, 0));
        PipeBarrier<PIPE_MTE2>();
    }
    for (uint32_t r = 0; columns > 0 && r < rows; r += tall) {
        DataCopy(to[r * wide + first * (32 / sizeof(T))], from[r * stride],
                 Nd2NzParams(1, LeastOf(tall, rows - r), columns, 0, stride, tall, 1, 0));
    }
}
"""

PRODUCT = """\
// sum (+)= left [M, K] right [K, N], of which `deep` columns and rows count, PIECE of them at a time. A turned matrix
// lies in L1 as its transpose. What must be turned on the way to L0 lies in L1 in panels, unless it has 16 bits: the
// unit turns squares of SQUARE numbers.
template <typename T, typename SUM, uint32_t M, uint32_t K, uint32_t N, uint32_t PIECE, bool TURNED_LEFT,
          bool TURNED_RIGHT>
__aicore__ inline void MultiplyTiles(const LocalTensor<SUM>& sum, const LocalTensor<T>& left,
                                     const LocalTensor<T>& right, uint32_t deep, bool fresh)
{
    constexpr uint32_t LINE = 32 / sizeof(T), FRACTAL = 16 * LINE, SQUARE = sizeof(T) == 1 ? 32 : 16;
    constexpr uint32_t ROWS = M / 16, COLUMNS = N / 16, STEPS = K / LINE, EACH = SQUARE / LINE, HALVES = SQUARE / 16;
    LocalTensor<T> a(TPosition::A2, 0, M * PIECE), b(TPosition::B2, 0, PIECE * N);
    if (deep == 0 && fresh) deep = 1;  // of zeros: the sum is not left as it was
    for (uint32_t at = 0; at < deep; at += PIECE) {
        uint32_t now = LeastOf(PIECE, deep - at), squares = (now + SQUARE - 1) / SQUARE, steps = squares * EACH;
        uint32_t first = at / LINE;
        if constexpr (TURNED_LEFT && sizeof(T) != 2) {  // to Zz
            for (uint32_t i = 0; i < squares; i++) {
                LoadDataWithTranspose(a[i * EACH * FRACTAL], left[(at + i * SQUARE) * M],
                                      LoadData2dTransposeParams(0, M / SQUARE, 1, HALVES * steps - 1,
                                                                HALVES == 2 ? steps - 1 : 0, 0));
            }
        } else {
            for (uint32_t i = 0; i < ROWS; i++) {
                if constexpr (TURNED_LEFT) {
                    LoadData(a[i * steps * FRACTAL], left[(i * STEPS + first) * FRACTAL],
                             LoadData2DParams(0, steps, 1, 0, 0, true, 0));
                } else {
                    LoadData(a[i * steps * FRACTAL], left[(first * ROWS + i) * FRACTAL],
                             LoadData2DParams(0, steps, ROWS, 0, 0, false, 0));
                }
            }
        }
        if constexpr (!TURNED_RIGHT && sizeof(T) != 2) {  // to Zn
            for (uint32_t i = 0; i < squares; i++) {
                LoadDataWithTranspose(b[i * EACH * COLUMNS * FRACTAL], right[(at + i * SQUARE) * N],
                                      LoadData2dTransposeParams(0, N / SQUARE, 1, HALVES - 1,
                                                                EACH == 2 ? COLUMNS - 1 : 0, 0));
            }
        } else {
            for (uint32_t i = 0; i < steps; i++) {
                if constexpr (TURNED_RIGHT) {
                    LoadData(b[i * COLUMNS * FRACTAL], right[(first + i) * COLUMNS * FRACTAL],
                             LoadData2DParams(0, COLUMNS, 1, 0, 0, false, 0));
                } else {
                    LoadData(b[i * COLUMNS * FRACTAL], right[(first + i) * FRACTAL],
                             LoadData2DParams(0, COLUMNS, STEPS, 0, 0, true, 0));
                }
            }
        }
        Sync<HardEvent::MTE1_M>();
        Mmad(sum, a, b, MmadParams(M, N, EACH == 2 ? steps * LINE : now, 0, false, fresh && at == 0));
        Sync<HardEvent::M_MTE1>();
    }
    Sync<HardEvent::MTE1_MTE2>();
}
"""

STORE_SUM = """\
template <typename T, uint32_t HIGH, typename SUM>
__aicore__ inline void StoreSum(const GlobalTensor<T>& to, const LocalTensor<SUM>& sum, uint32_t rows, uint32_t columns,
                                int64_t stride)
{
    FixpipeParamsV220 params(columns, rows, HIGH, stride, false);
    if constexpr (IsSameType<T, half>::value) params.quantPre = QuantMode_t::F322F16;
    if constexpr (IsSameType<T, bfloat16_t>::value) params.quantPre = QuantMode_t::F322BF16;
    Fixpipe(to, sum, params);
}
"""

CLEAR_SUM = """\
// Zeros in L0C: a product of zeros.
template <uint32_t M, uint32_t N, typename SUM> __aicore__ inline void ClearSum(const LocalTensor<SUM>& sum)
{
    constexpr uint32_t LINE = IsSameType<SUM, int32_t>::value ? 32 : 16;
    LocalTensor<int16_t> a(TPosition::A2, 0, M * 16), b(TPosition::B2, 0, N * 16);
    Fill(a, InitConstValueParams<int16_t>(1, M / 16, 0, 0));
    Fill(b, InitConstValueParams<int16_t>(1, N / 16, 0, 0));
    Sync<HardEvent::MTE1_M>();
    MmadParams params(M, N, LINE, 0, false, true);
    if constexpr (LINE == 32) Mmad(sum, a.ReinterpretCast<int8_t>(), b.ReinterpretCast<int8_t>(), params);
    else Mmad(sum, a.ReinterpretCast<half>(), b.ReinterpretCast<half>(), params);
    Sync<HardEvent::M_MTE1>();
}
"""

CUBE = {"Sync": CUBE_SYNC, "Within": CLAMP, "CopyToL1": COPY_TO_L1, "MultiplyTiles": PRODUCT, "ClearSum": CLEAR_SUM,
        "StoreSum": STORE_SUM}  # fmt: skip
OWN = {
    "Sync": SYNC,
    "Within": CLAMP,
    "Rows": ROWS,
    "FillBehind": FILL_BEHIND,
    "Put": PUT,
    "Take": TAKE,
    "Quotient": QUOTIENT,
    "Rest": REST,
    "HighWord": HIGH_WORD,
    "UpperProduct": UPPER_PRODUCT,
    "BitsAs": BITS_AS,
    "SortLanes": SORT,
} | {
    f"Fold{name}": _FOLD.format(what=what, name=name, op=op, formula=formula)
    for name, what, op, formula in (
        ("Sum", "The sum", "Add", "a + b"),
        ("Max", "The largest", "Max", "a > b ? a : b"),
        ("Min", "The smallest", "Min", "a < b ? a : b"),
    )
}
NEEDS = dict.fromkeys(("Put", "Take", "FoldSum", "FoldMax", "FoldMin"), ("Sync",))


def source(own: set[str], shared: set[str]) -> str:
    """own: names of OWN; shared: helpers of labkit.codegen."""
    own = own | {n for name in own for n in NEEDS.get(name, ())}
    if any(n in shared for n in ("FillFrom", "WidenColumn")) or any(n.endswith("Column") for n in shared):
        shared = shared | {"Spread"}
    return codegen.source(shared, rows=False) + "\n" + "\n".join(text for name, text in OWN.items() if name in own)


def cube_source(own: set[str], mixed: bool) -> str:
    """Of the cube core; mixed: behind those of the vector cores, which it shares some with."""
    names = [n for n in CUBE if n in own | {"Sync"} and not (mixed and n == "Within")]
    return "\n".join(CUBE[n].replace("Sync", "CubeSync") if mixed else CUBE[n] for n in names)
