import re


def read(text):
    """Cause, blocks and place of a message. text: all that aclGetRecentErrMsg() returned, no field left out."""
    # >>> exercise: the words of `errorStr` without the full stop; the failing blocks' numbers, sorted, each once; `pc start` and `current` as numbers | `errorStr` 的文字（不含句号）；出错的 block 编号，排序、不重复；`pc start` 与 `current` 的数值
    # stub: cause, blocks, start, current = "", [], 0, 0
    cause = re.search(r"errorStr: ([^.]+)\.", text)[1]
    blocks = sorted({int(b) for b in re.findall(r"\bblk:(\d+)", text)})
    start, current = (int(v, 16) for v in re.search(r"pc start: (\w+), current: (\w+)", text).groups())
    # <<<
    return {"cause": cause, "blocks": blocks, "offset": hex(current - start)}
