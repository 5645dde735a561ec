"""Kernels that a macro declares: `DECLARE_ADD(half)` at file scope becomes the kernel's own text, on the same line.

Only macros whose body holds `__global__` are expanded; the compiler's preprocessor does the rest.
"""

from __future__ import annotations

import re

from labkit.source.scan import closing, mask, split

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", re.M)


def expanded(text: str) -> str:
    """`text` with the uses of kernel-declaring macros replaced; no line moves."""
    macros = {
        m[1]: ([p.strip() for p in m[2].split(",")], m[3]) for m in _DEFINE.finditer(text) if "__global__" in m[3]
    }
    if not macros:
        return text
    masked = mask(text)
    edits = []
    for m in re.finditer(r"^[ \t]*(" + "|".join(map(re.escape, macros)) + r")[ \t]*\(", masked, re.M):
        end = closing(masked, m.end() - 1)
        if end < 0:
            continue
        params, body = macros[m[1]]
        given = [text[a:b].strip() for a, b in split(masked, m.end(), end)]
        if params[-1].endswith("..."):  # `args...` has a name of its own
            params = [*params[:-1], params[-1].removesuffix("...").strip() or "__VA_ARGS__"]
            given[len(params) - 1 :] = [", ".join(given[len(params) - 1 :])]
        if len(given) == len(params):
            edits.append(
                (
                    m.start(1),
                    end + 1,
                    _filled(body, dict(zip(params, given))) + "\n" * text.count("\n", m.start(1), end + 1),
                )
            )
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


def _filled(body: str, values: dict[str, str]) -> str:
    line = " ".join(re.sub(r"\\\n", " ", body).split())
    names = "|".join(map(re.escape, values))
    line = re.sub(rf"(?<!#)#\s*({names})\b", lambda m: '"' + values[m[1]].replace('"', '\\"') + '"', line)
    return re.sub(
        r"\s*##\s*",
        "",
        re.sub(
            rf"\b({names})\b", lambda m: values[m[1]], re.sub(rf"##\s*({names})\b", lambda m: "##" + values[m[1]], line)
        ),
    )
