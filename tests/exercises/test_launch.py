"""A case is launched with its own copies, and a text is a module."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from labkit.exercises import Case, Out, launch


class Writes:
    """Stands for a kernel that writes all that it is given."""

    def __getitem__(self, blocks):
        return lambda *args: [a.zero_() for a in args] and None


@pytest.mark.parametrize("place", ["cpu", "npu"])
def test_a_kernel_that_writes_its_input_changes_no_case(place):
    x, a = torch.ones(4), np.ones(4, np.float32)
    case = Case("writes", args=(x, a, Out(4, "float32")), expected=x)
    launch.run_kernel(SimpleNamespace(run="", blocks=1), Writes(), case, place=place)
    assert x.tolist() == [1.0] * 4 and a.tolist() == [1.0] * 4


def test_a_function_that_writes_into_its_input_changes_no_case():
    def clears(rows, tables, pair):
        rows[0].clear()
        tables["a"]["b"].append(4)
        pair[0][0] = 9.0

    case = Case("writes", args=([[1, 2], [3]], {"a": {"b": [3]}}, (np.ones(2), 5)), expected=0)
    launch.run_function(SimpleNamespace(run="", on_device=False), clears, case)
    rows, tables, pair = case.args
    assert rows == [[1, 2], [3]] and tables == {"a": {"b": [3]}} and pair[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "output, lines", [("", []), ("\n", [""]), ("1\n2\n", ["1", "2"]), ("1\n2", ["1", "2"]), ("1\n\n", ["1", ""])]
)
def test_the_lines_of_a_program_whether_or_not_the_last_one_ends(output, lines):
    case = Case("prints", args=(), expected=lines)
    assert launch.run_program(SimpleNamespace(run=""), lambda: SimpleNamespace(output=output), case)[0] == lines


DATACLASS = """from __future__ import annotations
import dataclasses, pickle, typing
@dataclasses.dataclass
class Pair:
    a: int
    b: Pair | None = None
def f(number):
    return pickle.loads(pickle.dumps(Pair(number))), typing.get_type_hints(Pair)
"""


def test_a_text_is_a_module_while_it_is_the_newest():
    first = launch.function(DATACLASS, "first", "f")
    assert first(3)[0].a == 3
    second = launch.function(DATACLASS.replace("a: int", "a: float"), "second", "f")
    assert second(4)[1]["a"] is float
    with pytest.raises(ZeroDivisionError):
        launch.function("1 / 0", "third", "f")
    assert second(4)[0].a == 4, "a text that failed leaves the one before in place"
    assert first.__globals__["Pair"](3).a == 3 and first.__globals__["pickle"], "and the first has its names yet"
