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
