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
__aicore__ inline int32_t Clamp(int64_t count, int32_t most)
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

OWN = {"Sync": SYNC, "Clamp": CLAMP, "Rows": ROWS, "Put": PUT} | {
    f"Fold{name}": _FOLD.format(what=what, name=name, op=op, formula=formula)
    for name, what, op, formula in (
        ("Sum", "The sum", "Add", "a + b"),
        ("Max", "The largest", "Max", "a > b ? a : b"),
        ("Min", "The smallest", "Min", "a < b ? a : b"),
    )
}
NEEDS = dict.fromkeys(("Put", "FoldSum", "FoldMax", "FoldMin"), ("Sync",))


def source(own: set[str], shared: set[str]) -> str:
    """own: names of OWN; shared: helpers of labkit.codegen."""
    own = own | {n for name in own for n in NEEDS.get(name, ())}
    if any(n in shared for n in ("FillFrom", "WidenColumn")) or any(n.endswith("Column") for n in shared):
        shared = shared | {"Spread"}
    return codegen.source(shared, rows=False) + "\n" + "\n".join(text for name, text in OWN.items() if name in own)
