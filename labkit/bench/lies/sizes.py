"""Does a report name the size of what was timed?"""

from __future__ import annotations

import re
from math import prod

from labkit.bench.lies import words

_TOGETHER, _LARGE = 64, 1 << 16  # tensors; bytes, below which a number may be a multiple by chance


def stated(shape, text: str, widths: set[int]) -> bool:
    """Does the text name the shape: a dimension, the number of elements or of bytes, also as 4M or 4 Mi?"""
    numbers = {n for n in (*shape, prod(shape)) if n > 1} or {1}
    numbers |= {prod(shape) * width for width in widths}
    joined = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    digits = f"{text}\n{joined}"  # 4,096 is one number, 64,512 may be two
    for n in numbers:
        if re.search(rf"(?<![\d.a-wyz]){n}(?![\d]|\.\s*[\d\]]|{words.UNIT})", digits, re.I):
            return True
        if n >= 256 and n & (n - 1) == 0 and re.search(rf"2\s?(\*\*|\^)\s?{n.bit_length() - 1}(?!\d)", digits):
            return True
        for unit, factor in (("k", 1e3), ("m", 1e6), ("g", 1e9), ("k", 2**10), ("m", 2**20), ("g", 2**30)):
            if n >= factor and n % factor == 0 and re.search(rf"(?<![\d.]){int(n // factor)}\s?{unit}", digits, re.I):
                return True
    return any(_near(prod(shape) * width, text) for width in widths)


def _near(size: int, text: str) -> bool:
    """As a rounded number of bytes: 66 kB, 0.5 MiB; no rate."""
    for number, unit, binary in re.findall(r"(?<![\d.,])(\d+(?:\.\d+)?) ?([kmg])(i?)b\b(?! ?(?:/|per))", text, re.I):
        factor = (1024 if binary else 1000) ** (1 + "kmg".index(unit.lower()))
        half = 0.5 * 10.0 ** -len(number.partition(".")[2])  # of the last digit that is given
        if number.strip("0.") and abs(float(number) - size / factor) <= half:
            return True
    return False


def in_all(shape, text: str, widths: set[int]) -> bool:
    """Does the text name the bytes of a few such tensors together, as a working set?"""
    named = {int(n) for n in re.findall(r"(?<![\d.,])\d{6,}(?![\d.,]\d)", text)}
    sizes = {prod(shape) * width for width in widths}
    return any(n % size == 0 and n // size <= _TOGETHER for size in sizes if size >= _LARGE for n in named)
