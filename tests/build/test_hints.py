"""Errors of the compiler at the edges: names beyond ASCII, what stands before kernel_operator.h, an assignment."""

from __future__ import annotations

import pytest

import labkit
from labkit.build.compile_hints import ErrorContext, advise
from labkit.build.compiler_output import Diagnostic, read
from labkit.source.line_map import LineMap

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'


def error(body: str, head: str = HEAD) -> str:
    text = f'{head}extern "C" __global__ __aicore__ void k(GM_ADDR x) {{\n{body}\n}}\n'
    with pytest.raises(labkit.CompileError) as raised:
        labkit.kernel(text=text, filename="k.asc")
    return str(raised.value)


def test_the_line_of_a_header_before_the_labs():
    """There the lab puts a line of its own in front."""
    said = error("", '#include "kernel_operatr.h"\n' + HEAD)
    assert '1 | #include "kernel_operatr.h"' in said and "stdint" not in said


def test_what_stands_before_the_first_line_is_no_line():
    made = LineMap('#include <stdint.h>\n#line 1 "k.asc"\nfirst\nsecond', "k.asc")
    assert [made.physical("k.asc", n) for n in (1, 2, 3)] == [3, 4, 0]
    assert LineMap("first\nsecond", "k.asc").physical("k.asc", 1) == 1


LINES = [  # a line of the text, (file, line) that it is of; * where that leads back to it
    ("lab", ("k.asc", 1)), ('#line 1 "k.asc"', ("k.asc", 2)), ("a", ("k.asc", 1), "*"), ("b", ("k.asc", 2), "*"),
    ('  # line 7 "o\\"t.h"', ("k.asc", 3)), ("c", ('o"t.h', 7), "*"), ("#line 9", ('o"t.h', 8)),
    ("d", ('o"t.h', 9), "*"), ('#line 1 "k.asc"', ('o"t.h', 10)), ("again", ("k.asc", 1)), ("b", ("k.asc", 2)),
    ("e", ("k.asc", 3), "*"),
]  # fmt: skip


def test_each_line_has_a_place_and_each_place_its_first_line():
    """An error of a learner's line is shown at that line: not at the lab's in front, nor at its second copy."""
    made = LineMap("\n".join(text for text, *_ in LINES), "k.asc")
    assert [made.logical(n) for n in range(1, len(LINES) + 1)] == [place for _, place, *_ in LINES]
    back = {place: n for n, (_, place, *first) in enumerate(LINES, 1) if first}
    assert {place: made.physical(*place) for place in back} == back
    assert made.files == {"k.asc", 'o"t.h'} and made.physical("k.asc", 4) == made.physical("gone", 1) == 0
    assert made.logical(0) == made.logical(-3) == LINES[0][1] and made.logical(99) == LINES[-1][1]


def test_names_beyond_ascii_are_read():
    assert "'长度2'" in error("int 长度 = 1; 长度 = 长度2;")
    (found,) = read("k.asc:1:2: error: '\\U00010348x' was not declared in this scope\n")
    assert found.message.startswith("'\U00010348x'")
    (found,) = read("k.asc:1:2: error: stray '\\u0041' and '\\U00110000' and '\\ud800'\n")
    assert found.message == "stray '\\u0041' and '\\U00110000' and '\\ud800'"


@pytest.mark.parametrize(
    "body, words",
    [
        (
            "LocalTensor<half> a; LocalTensor<float> b; a = b;",
            "A LocalTensor<float> does not become a LocalTensor<half>",
        ),
        ("GlobalTensor<half> a; LocalTensor<half> b; a = b;", "A LocalTensor is not a GlobalTensor"),
    ],
)
def test_an_assignment_between_tensors(body, words):
    assert words in error(body)


def test_a_signature_without_a_name():
    message = "too many arguments to function ')'"
    assert advise(Diagnostic("error", "k.asc", 1, 1, message), ErrorContext())
