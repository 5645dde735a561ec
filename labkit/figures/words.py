"""Numbers and words of the figures: bytes, microseconds, axis ticks, and how wide a text will be.

A deterministic SVG cannot ask a browser for text widths, so they are estimated, on the wide side (DejaVu Sans, the
widest of the usual `system-ui` fonts): a label that is drawn inside a box fits it everywhere.
"""

from __future__ import annotations

import math
import re
import unicodedata

from labkit.messages import language

_NARROW = dict.fromkeys("ijlI.,:;'|!", 0.34) | dict.fromkeys('frt()[]{}/- "', 0.42)
_WIDE = dict.fromkeys("mwMW%@", 0.95)


def text_width(words: str, size: float = 12, bold: bool = False) -> float:
    """Estimated width in px at a font size in px."""
    ems = 0.0
    for ch in words:
        if unicodedata.east_asian_width(ch) in "WF":
            ems += 1.0
        else:
            ems += _NARROW.get(ch) or _WIDE.get(ch) or (0.7 if ch.isupper() else 0.63)
    return ems * size * (1.07 if bold else 1.0)


def fits(words: str, width: float, size: float = 12) -> bool:
    """Whether bold `words` have room in `width` px, with a little air."""
    return text_width(words, size, bold=True) + 5 <= width


def shorten(words: str, width: float, size: float = 12) -> str:
    """`words`, cut with an ellipsis where it would be wider than `width` px."""
    if text_width(words, size) <= width:
        return words
    while words and text_width(words + "…", size) > width:
        words = words[:-1]
    return words + "…"


def wrap(words: str, width: float, size: float = 12) -> list[str]:
    """Lines no wider than `width` px; breaks at spaces, and between CJK characters."""
    rows: list[str] = []
    row = ""
    for token in _tokens(words):
        if row and text_width(row + token.rstrip(), size) > width:
            rows.append(row.rstrip())
            row = ""
        row += token
    return [*rows, row.rstrip()] if row.strip() else rows


def _tokens(words: str) -> list[str]:
    """Pieces that may not be broken: a word with its trailing space, one CJK character with its punctuation, or a
    number with its unit."""
    tokens: list[str] = []
    units = {m.start() for m in re.finditer(r"(?<=\d )(?:%|[numk]?s\b|[KMGT]?B(?:/s)?\b|[KMGT]?FLOP)", words)}
    for at, ch in enumerate(words):
        if at in units:
            tokens[-1] += ch
            continue
        wide = unicodedata.east_asian_width(ch) in "WF"
        closing = ch in "，。；：）、！？》"
        if (
            not tokens
            or (tokens[-1].endswith(" ") and ch != " ")
            or (wide and not closing)
            or (not closing and unicodedata.east_asian_width(tokens[-1][-1]) in "WF" and ch != " ")
        ):
            tokens.append(ch)
        else:
            tokens[-1] += ch
    return tokens


def _trim(value: float, decimals: int) -> str:
    short = f"{value:,.{decimals}f}"
    return short.rstrip("0").rstrip(".") if "." in short else short


def size_text(count: float) -> str:
    """Bytes as a person says them: 400 B, 12.5 KB, 184 KB, 64 GB (1 KB = 1024 B)."""
    for unit, step in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= step:
            return f"{_trim(count / step, 2)} {unit}"
    return f"{int(count):,} B"


def time_text(microseconds: float) -> str:
    """Three significant digits below a thousand, whole numbers above: 0.0421, 1.24, 12.4, 124, 1,239,689."""
    if microseconds == 0:
        return "0"
    if abs(microseconds) >= 1000:
        return f"{microseconds:,.0f}"
    return _trim(microseconds, max(0, 2 - math.floor(math.log10(abs(microseconds)))))


def percent(share: float) -> str:
    """0.5 -> '50 %'; a share that is not zero never reads 0 %, one that is not whole never 100 %."""
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def ticks(low: float, high: float, count: int = 8) -> list[float]:
    """About `count` round numbers in [low, high]; steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def join(*sentences: str) -> str:
    """Sentences one after another, as the language in force sets them."""
    return ("" if language() == "zh" else " ").join(s for s in sentences if s)
