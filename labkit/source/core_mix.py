"""Which cores a kernel runs on: (cube cores, vector cores) of a block.

It is what the function's head says (`__vector__`, `__cube__`, `__mix__(1, 2)`), else the task type in its body, else
what the source uses, as CANN's compiler works it out: a Matmul object is served by the cube core of a block with two
vector cores; the cube's own instructions alone make a cube kernel.
"""

from __future__ import annotations

import re

VECTOR, CUBE, MIX_1_1, MIX_1_2 = (0, 1), (1, 0), (1, 1), (1, 2)
Crew = tuple[int, int]

_HEADS = {"__vector__": VECTOR, "__cube__": CUBE, "__mix__": MIX_1_2}
_TASK_TYPES = {
    "AIV_ONLY": VECTOR,
    "AIC_ONLY": CUBE,
    "MIX_AIV_1_0": VECTOR,
    "MIX_AIC_1_0": CUBE,
    "MIX_AIC_1_1": MIX_1_1,
    "MIX_AIC_1_2": MIX_1_2,
    "MIX_AIV_HARD_SYNC": VECTOR,
    "MIX_AIC_HARD_SYNC": CUBE,
}
_TASK = re.compile(
    r"\bKERNEL_TASK_TYPE(?:_DEFAULT)?\s*\(\s*(?:(?P<key>[^,()]+),)?\s*[\w:\s]*?KERNEL_TYPE_(?P<type>\w+)\s*\)"
)
_CUBE_OBJECT = re.compile(r"\b(?:REGIST_MATMUL_OBJ\w*|MatmulImpl\s*<|Matmul\s*<|matmul_intf\.h)")
_CUBE_WORDS = re.compile(
    r"\b(?:Mmad|LoadData(?:[23][dD]\w*|With(?:Sparse|Transpose)|RepeatParam)?|Fixpipe|TPosition::(?:A1|A2|B1|B2|CO1|C1|C2)|QuePosition::(?:A1|A2|B1|B2|CO1)|__cbuf__|__ca__)\b"
)
_VECTOR_WORDS = re.compile(r"\b(?:VECIN|VECOUT|VECCALC)\b|Hardware::UB")
_BOTH = re.compile(
    r"\bASCEND_IS_(?:NOT_)?AIC\b|\bASCEND_IS_(?:NOT_)?AIV\b|\bg_coreType\b|\b__DAV_C220_(?:CUBE|VEC)__\b|\bMIX_AIC_1_|\b__mix__\b"
)


def declared(marked: list[str], mix: Crew | None, body: str, tiling_key: int | None = None) -> Crew | None:
    """What the kernel says itself; None where it does not. marked: the words of its head; body: its text, masked."""
    if mix and "__mix__" in marked:
        return mix
    for word in marked:
        if word in _HEADS:
            return _HEADS[word]
    default = None
    for m in _TASK.finditer(body):
        crew = _TASK_TYPES.get(m["type"])
        if m["key"] and tiling_key is not None and m["key"].strip().rstrip("uUlL") == str(tiling_key):
            return crew
        default = default or crew
    return default


def used(text: str) -> Crew:
    """What the instructions in a text need. text: the source with all that it includes, comments masked."""
    if _CUBE_OBJECT.search(text):
        return CUBE if re.search(r"#\s*define\s+ASCENDC_CUBE_ONLY\b", text) and not _BOTH.search(text) else MIX_1_2
    if not _CUBE_WORDS.search(text):
        return VECTOR
    return MIX_1_2 if _VECTOR_WORDS.search(text) or _BOTH.search(text) else CUBE
