"""The first sentence of a failed check: what the text, an exception or a variation of our solution shows."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest
import torch
from places import FIXTURES

from labkit.exercises import (
    Case,
    Out,
    alike,
    check,
    judge,
    known_mistakes,
    predict,
    prediction,
    session,
    slips,
    value_remarks,
    variations,
)
from labkit.exercises.diagnose import Diagnosis, compare_values
from labkit.exercises.spec import load
from labkit.exercises.stub import Region, Template, parse, template
from labkit.exercises.value_remarks import chosen, missing_product, remark, unchanged


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)


# ---- the text


def ours(text: str, comment: str = "//"):
    return parse(text, comment)


GIVEN = "void f(uint32_t count)\n{\n    // >>> exercise: all of it | 全部\n    a();\n    // <<<\n}"


@pytest.mark.parametrize(
    "text, said",
    [
        ("queueZ.EnQue(z);\nAdd(z, x, y, n);", "before Add works on it"),
        ("queueZ.EnQue<half>(z);\nMuls(z, z, 2, n);", "EnQue"),
        ("queueX.FreeTensor(x);\nAdd(z, x, y, n);", "given back by FreeTensor before Add"),
        ("queueX.FreeTensor(x);\nx = queueX.AllocTensor<half>();\nAdd(z, x, y, n);", ""),
        ("for (;;) {\n  queue.EnQue(z);\n}\nAdd(z, x, y, n);", ""),
        ("Add(z, x, y, n);\nqueueZ.EnQue(z);\nqueueX.FreeTensor(x);", ""),
        ("DataCopyPad(x, g, DataCopyExtParams(1, count, 0, 0, 0));", "`count` has no sizeof"),
        ("DataCopyExtParams p{1, count * rows, 0, 0, 0};", "count * rows"),
        ("DataCopyExtParams p(1, count * sizeof(half), 0, 0, 0);", ""),
        ("uint32_t length = n * sizeof(half);\nDataCopyExtParams p(1, length, 0, 0, 0);", ""),
        ("pipe.InitBuffer(queue, 2 * 1, count);", "InitBuffer wants a length in bytes"),
        ("pipe.InitBuffer(queue, 2, 512);", ""),
        ("// queueZ.EnQue(z);\nAdd(z, x, y, n);", ""),
        ("c10::OptionalDeviceGuard(at::device_of(x));\nrun();", "`c10::OptionalDeviceGuard` has no name"),
        ("c10::OptionalDeviceGuard guard(at::device_of(x));\nrun();", ""),
    ],
)
def test_c_plus_plus(text, said):
    found = slips.in_text(ours(GIVEN), text, None)
    assert said in found and bool(said) == bool(found)


PYTHON = '''def f(source, things):
    """The given part."""
    # >>> exercise: all of it | 全部
    # stub: edited = source
    edited = Kind() + source.replace("a", "b")
    # <<<
    return edited
'''


@pytest.mark.parametrize(
    "text, said",
    [
        ('source.replace("a", "b")\nedited = source', "throws it away"),
        ('edited = source.replace("a", "b")', ""),
        ("source / 2\nedited = source", "`source / 2` makes a new value"),
        ("edited == source\nedited = source", "throws it away"),
        ("edited = source / 2", ""),
        ("things.sort()\nedited = things", ""),
        ("edited = Kind", "`Kind` stands without ()"),
        ("Kind = source / 2\nedited = Kind", ""),  # a value of their own, with that name
        ("edited = Kind() + source", ""),
        ("edited = map(Kind, things)", ""),
        ("edited = dist.all_reduce(source)", "works in place and gives None"),
        ("edited = dist.all_reduce(source, async_op=True)", ""),
        ("dist.all_reduce(source)", ""),
        ("edited = functools.reduce(max, things)", ""),
        ("edited = timed(lambda: dist.all_reduce(source))", ""),  # nobody wants its result
        ("source.to(float)\nedited = source", "throws it away"),
        ('source.to("npu")\nedited = source(things)', ""),  # a module moves itself
        ("ourModel.half()\nedited = source", ""),
        ("things.sort_values('a', inplace=True)\nedited = things", ""),
        ("torch.sum(things, out=source)\nedited = source", ""),
        ("worker.join()\nedited = source", ""),
        ("edited = set(source.flatten())", "equal to itself only"),
        ("edited = set(source.numpy().flatten())", ""),
    ],
)
def test_python(text, said):
    one = ours(PYTHON, "#")
    found = slips.in_text(one, text, one.join(text, "exercise x"))
    assert said in found and bool(said) == bool(found)


def test_a_class_of_python_stands_without_brackets_for_good_reason():
    one = ours(PYTHON.replace("Kind()", "int(source or ValueError())"), "#")
    for text in ("edited: int = source", "edited = type(source) is int", "raise ValueError"):
        assert not slips.in_text(one, text, one.join(text, "exercise x")), text


@pytest.mark.parametrize(
    "text, said",
    [
        ("total += rows", "no loop where ours has `for at in range(0, rows, high)`"),
        ("for at in range(rows):\n    total += at", "no use of `high`, and ours"),
        ("for at in range(rows, 0, -high):\n    total += at", ""),
    ],
)
def test_what_an_answer_lacks(text, said):
    ours = parse(
        "def f(rows, high):\n    total = 0\n    # >>> exercise: all | 全部\n    # stub: pass\n"
        "    for at in range(0, rows, high):\n        total += at\n    # <<<\n    return total\n",
        "#",
    )
    found = slips.lacking(ours, text)
    assert said in found and bool(said) == bool(found)


def test_append_where_ours_extends():
    one = ours(PYTHON.replace('edited = Kind() + source.replace("a", "b")', "things.extend(source)"), "#")
    for text, said in (("things.append(source)", "as one element"), ("things += source", ""), ("source.append(1)", "")):
        found = slips.in_text(one, text, one.join(text, "exercise x"))
        assert said in found and bool(said) == bool(found)


def test_an_empty_region_is_named_with_its_task():
    result = check("fx_share", "# nothing")
    assert result.state == "FAIL" and result.lines[0].startswith("Your part is empty. Its task: the edges"), str(result)


# ---- exceptions


@pytest.mark.parametrize(
    "cell, said",
    [
        ("edges = sorted([3, 1]).sort()[0]", "works in place and gives None"),
        ("each = n - n\nedges = [n // each]", "`each` is 0 in this case"),
        ("edges = [blocs]", "did you mean `blocks`"),
        ("edges = [nowhere_near]", "`nowhere_near` is not known"),
        ("edges += [1]", "used before anything is assigned"),
        ("import math\nedges = math.cel(n / 2)", "did you mean `ceil`"),
        ("edges = list(range(n / 2))", "a float is given"),
        ("edges = shares(n, blocks)", "calls itself without end"),
        ("nothing = None\nedges = nothing + [1]", "`nothing` is None here"),
        ("import torch\nmany, none = torch.ones(3), 0\nedges = [many / many, n / none]", "`none` is 0 in this case"),
    ],
)
def test_exceptions_in_plain_words(cell, said):
    result = check("fx_share", cell)
    assert result.diagnosis == "exception" and said in result.lines[0], str(result)
    assert ": " in result.lines[1]  # Python's own words stay


# ---- variations


SOLUTION = '''def f(a, b, page):
    """a, b, page"""
    # >>> exercise: x | 甲
    need = -(-(a + b) // page)
    if need > b or need >= a:
        need = max(need, b) - a
    # <<<
    return need
'''
CASES = [(a, b, page) for a in range(1, 9) for b in range(4) for page in (1, 2, 3)]


def results(text: str) -> list:
    names: dict = {}
    exec(text, names)
    return [names["f"](*case) for case in CASES]


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("-(-(a + b) // page)", "(a + b) // page", "rounds down"),
        ("-(-(a + b) // page)", "(a + b) // page + 1", "one too many where it comes out even"),
        ("need >= a", "need > a", "look at the case of equality"),
        ("max(need, b)", "min(need, b)", "`min` gives where `max` belongs"),
        ("max(need, b) - a", "a - max(need, b)", "taken the other way round"),
        ("max(need, b)", "need", "without `max`"),
        ("need > b or ", "", "is not asked for"),
        ("- a\n", "\n", "`a` is left out"),
        ("max(need, b) - a", "need * need + 7", ""),
    ],
)
def test_variations(old, new, said):
    wrong = SOLUTION.replace(old, new)
    assert wrong != SOLUTION and results(wrong) != results(SOLUTION)
    mine = results(wrong)
    found = variations.sentence(ours(SOLUTION, "#"), "- + min >", lambda text: results(text) == mine, False)
    assert said in found and bool(said) == bool(found), found


def test_every_variation_is_python_and_another_text():
    one = ours(SOLUTION, "#")
    plain = ast.unparse(ast.parse(SOLUTION))
    texts = [text for _, _, text, _ in variations._texts(ast.parse(SOLUTION), one)]
    assert len(texts) > 20 and all(ast.parse(text) and text != plain for text in texts)


LOOP = '''def f(rows, scale):
    """rows, row, scale, mean, ready, log"""
    # >>> exercise: x | 甲
    mean = sorted({r for r in rows}, reverse=True)
    total, log = 0, []
    for row in rows:
        ready = abs(row * 2 - scale) ** 2
        log.append(ready)
        total = total + ready
    log.append(total)
    # <<<
    return total, mean, log
'''
ROWS = [([3, 1, 4, 1], 5), ([2, 7, 2], 3), ([-6], 9)]


@pytest.mark.parametrize(
    "old, new, said",
    [
        (" ** 2", "", "not squared"),
        ("abs(row * 2 - scale)", "(row * 2 - scale) * 1.5", ""),
        ("row * 2 - scale", "row - scale", "without the factor 2"),
        (
            "    log.append(ready)\n        total = total + ready",
            "    total = total + ready\n    log.append(ready)",
            "behind",
        ),
        ("    log.append(total)", "        log.append(total)", "stands inside the loop"),
        ("{r for r in rows}", "[r for r in rows]", "counted several times"),
        (", reverse=True", "", "not given `reverse=`"),
        ("total = total + ready", "total = ready", "left out"),
        ("row * 2 - scale", "scale * 2 - row", "`scale` and `row` are exchanged"),
    ],
)
def test_variations_of_statements_and_calls(old, new, said):
    wrong = LOOP.replace(old, new)
    assert wrong != LOOP

    def results(text):
        names: dict = {}
        exec(text, names)
        try:
            return [names["f"](*case) for case in ROWS]
        except Exception as error:
            return str(error)

    mine, one = results(wrong), ours(LOOP, "#")
    region = parse(wrong, "#").bodies()[0]
    found = variations.sentence(one, region, lambda text: results(text) == mine, False)
    assert mine != results(LOOP) and said in found and bool(said) == bool(found), found


# ---- the text's marks


MARKED = PYTHON.replace(
    'edited = Kind() + source.replace("a", "b")', "share = scale.reshape(-1, 1, 1) * source\n    edited = share.sum(0)"
)


@pytest.mark.parametrize(
    "answer, wrong, same",
    [
        ("edited = (source * scale.view(1, -1, 1)).sum(0)", "edited = (scale.reshape(1, -1, 1) * source).sum(0)", True),
        (
            "mine = scale.view(1, -1, 1) * source\nedited = mine.sum(0)",
            "edited = (scale.reshape(1, -1, 1) * source).sum(0)",
            True,
        ),
        ("edited = (source * scale).sum(0)", "edited = (scale.cpu().reshape(-1, 1, 1) * source).sum(0)", False),
        ("edited = (scale * source).sum(0)", "edited = scale.reshape(-1, 1, 1) * source", False),
    ],
)
def test_marks_of_a_known_wrong_solution(answer, wrong, same):
    assert alike.bears(ours(MARKED, "#"), answer, wrong) == same


def test_an_exception_of_another_text_is_another_exception():
    same, other = (known_mistakes.Raised(ValueError(text)) for text in ("sizes 3 and 8", "sizes 4 and 8"))
    assert known_mistakes._same(same, known_mistakes.Raised(ValueError("sizes 3 and 8")))
    assert not known_mistakes._same(same, other)


# ---- None


RETURNS = """def f(a, b):
    # >>> exercise: x | 甲
    if a > b:
        return a
    return b
    # <<<
"""


@pytest.mark.parametrize(
    "cell, said, sure",
    [
        ("a if a > b else b", "a `return` is missing", True),
        ("if a > b:\n    return a", "on the way", False),
        ("if a > b:\n    return a\nelse:\n    return b", "", False),
        ("while True:\n    return max(a, b)", "", False),
        ("def g():\n    return 1\nmax(a, b)", "a `return` is missing", True),
        ("yield a", "", False),
    ],
)
def test_a_missing_return(cell, said, sure):
    one = ours(RETURNS, "#")
    found = slips.no_return(one, one.join(cell, "exercise x"))
    assert said in found[0] and bool(said) == bool(found[0]) and found[1] == sure


def test_a_missing_return_behind_a_run_that_makes_something_of_it():
    result = check("pass_region", 'not any(n.endswith("_") for n in operators[match[0] : match[-1]])')
    assert result.lines[0] == "The function returned None: a `return` is missing.", str(result)


# ---- an address


def test_a_row_of_another_length():
    import torch

    text = 'extern "C" __global__ __vector__ void k(GM_ADDR x, uint32_t rows, uint32_t dim)\n{\n}'
    case = Case("x", (torch.zeros(5, 20), 5, 40), None)

    def said(line, offset=640, dim=40):
        found = Diagnosis("gm-bounds", {"argument": 0, "size": 400, "offset": offset, "tensor": "x"})
        return slips._row_length(found, Case("x", (torch.zeros(5, 20), 5, dim), None), line, text, "k")

    assert "a row of x has 20 elements, and `dim` is 40" in said("DataCopy(a, xGm[row * dim], n);")
    assert "`dim` is 40" in said("DataCopy(a, xGm[dim * row], n);")
    assert not said("DataCopy(a, xGm[row * dim], n);", offset=644) and not said(
        "DataCopy(a, xGm[row * dim], n);", dim=20
    )
    assert not said("DataCopy(a, xGm[at], n);") and case.args[2] == 40


# ---- known mistakes


def test_a_known_mistake_in_other_names_and_layout():
    spec = load("fx_share")
    same = "each = n//blocks   # my own name\nedges = [ min(i*each, n) for i in range(blocks + 1) ]"
    assert "rounded down" in known_mistakes.sentence_by_text(spec, template(spec), same)
    assert not known_mistakes.sentence_by_text(spec, template(spec), same.replace("blocks + 1", "blocks"))


def test_a_finding_names_a_mistake_only_where_the_text_is_alike():
    spec = load("look_repair")
    other = "pipe->InitBuffer(queueZ, BUFFER_NUM + BUFFER_NUM + 2, tileLength / 4);"
    result = check("look_repair", other)
    assert result.lines[0] not in {m.say.get("en") for m in spec.mutants}, str(result)


# ---- values and predictions


@pytest.mark.parametrize(
    "got, expected, said",
    [
        ({"waits": "8", "right": True}, {"waits": "at most 1", "right": True}, "waits: 8, where at most 1 is right."),
        ({"a number": False}, {"a number": True}, "a number: no, where yes is right."),
        ({"result": False}, {"result": True}, ""),
        (["a", "b"], ["a"], "Too much in it: 'b'"),
        (["a"], ["a", "b"], "Missing in it: 'b'"),
        (["a"], ["b", "c"], "Missing in it: 'b', 'c'; too much: 'a'"),
        ([-0.5, 0.5], [0.5, -0.5], "All signs"),
        ([9, 4, 3], [8, 4, 2], "2 of 3 elements are one too many"),
        ([9, 5], [8, 4], "Each of the 2 elements is one too many"),
        ([3, 1, 2], [1, 2, 3], "another order"),
        ([5, 5, 6, 7], [5, 6, 7, 8], "From element 1 on"),
        ([6, 7, 8, 8], [5, 6, 7, 8], "Each element but the last"),
        ([True, True, False], [True, True, True], "Element 2 (counted from 0): no"),
        ((True, False, False), (True, True, True), "Element 1 (counted from 0): no, where yes is right. Element 2"),
        ((1, 1, 2), (1, 2, 2), "Only element 1"),
        ({"sums": [5, 5, 6]}, {"sums": [5, 6, 7]}, "sums: From element 1 on"),
    ],
)
def test_remarks(got, expected, said):
    assert said in remark(got, expected) and bool(said) == bool(remark(got, expected))


def test_remarks_on_tensors():
    """They cannot be compared as a whole: nothing is said of their order, and nothing is raised."""
    import torch

    one, two = torch.arange(2), torch.arange(2) + 1
    assert remark([two, one], [one, two]) == "" and remark([one, one, two], [one, two, two]) == ""


@pytest.mark.parametrize(
    "got, expected, said",
    [
        (12, 1536, "Too small by just `width * size`"),
        (1536, 24, "Too large by just `width`"),
        ((6, 5), (12, 5), "Too small by just `size`"),
        ((6, 5), (12, 10), ""),  # two of them are wrong
        (7, 20, ""),
        (1, 4096, "Too small by just `width * width`"),
        (True, 2, ""),
    ],
)
def test_an_argument_that_is_missing(got, expected, said):
    found = missing_product(got, expected, {"ids": [3], "width": 64, "size": 2})
    assert said in found and bool(said) == bool(found)


def test_another_number_of_a_sequence_was_taken():
    assert chosen(8, 4, {"sizes": [1, 2, 4, 8]}) == "Of `sizes` your answer takes 8, where 4 is right."
    assert not chosen(8, 4, {"sizes": [1, 2, 4]}) and not chosen(4, 4, {"sizes": [4, 8]}) and not chosen(8, 4, {"n": 8})


def test_a_share_is_off_by_no_unit():
    assert prediction._number_key(50.0, 25.0, True) == "prediction-times"
    assert prediction._number_key(50.0, 25.0, False) == "prediction-unit-factor"


def test_what_the_results_are_compared_with_are_tensors_and_arrays():
    """A case's Out has a shape as well, and no elements."""
    given = [Out((2, 3), "float16"), torch.ones(2), np.zeros(3), 4]
    assert [a.tolist() for a in judge._arrays(given)] == [[1, 1], [0, 0, 0]]


def test_what_stayed_as_it_came_in():
    scores = [0.5, 0.5, 1.0]
    assert "elements 1, 2" in unchanged([0.75, 0.5, 1.0], [0.75, 0.25, 0.5], {"rate": 2, "scores": scores})
    assert not unchanged([0.75, 0.5, 2.0], [0.75, 0.25, 0.5], {"scores": scores})
    assert not unchanged([0.75, 0.5], [0.75, 0.25, 0.5], {"scores": scores})


def test_a_remark_that_fails_leaves_the_verdict(monkeypatch):
    def fails(*_):
        raise SyntaxError("(:, mine)")

    monkeypatch.setattr(known_mistakes, "_say_little", fails)
    spec, ours = load("fx_share"), template(load("fx_share"))
    given = (spec, ours, ours.solution(), [], {}, [])
    with pytest.raises(SyntaxError):
        known_mistakes.sentence(*given)
    monkeypatch.setenv("LABKIT_REMARKS", "")
    assert known_mistakes.sentence(*given) == ""


def test_two_arguments_of_one_value_name_nothing():
    assert not missing_product(1, 4, {"rows": 4, "width": 4})


def test_a_number_within_its_tolerance_is_not_called_wrong():
    expected = {"mean": 1.40133001, "a number": True}
    found = compare_values({"mean": 1.40133002, "a number": False}, expected, (1e-4, 1e-5))
    assert found.say == "a number: no, where yes is right."


def test_a_number_may_be_typed_as_text_or_come_as_a_tensor():
    import torch

    assert predict("fx_tiles", "16").passed and predict("fx_tiles", torch.tensor(16)).passed
    assert not predict("fx_tiles", "3").passed and predict("fx_tiles", "sixteen").diagnosis == "type"


def test_every_change_of_an_answer_is_python_again():
    """An f-string's parts look like expressions and are none; it stands in answers that name what they chose."""
    code = """x, z = f"axpy<{n + 1:>{w}},{t[0]!r}>", (t[:, n], [*t])
y = [f"{'a' if k else k / 2}" for k in range(int(n)) if k <= 3]"""
    theirs = Template(("",), (Region({}, (), (), "", 1, 1),), "#")
    texts = [text for _, text in variations._mended(ast.parse(code), theirs)]
    assert len(texts) > 200 and all(ast.parse(text) for text in texts)


@pytest.mark.parametrize(
    "body, may",
    [
        ("a = 1", True),
        ("return 1", False),
        ("raise ValueError", False),
        ("if x:\n    return 1", True),
        ("if x:\n    return 1\nelse:\n    raise KeyError", False),
        ("if x:\n    a = 1\nelse:\n    return 2", True),
        ("if x:\n    return 1\nelse:\n    a = 2", True),
        ("with x:\n    return 1", False),
        ("with x:\n    a = 1", True),
        ("while True:\n    a = 1", False),
        ("while True:\n    break", True),
        ("while x:\n    return 1", True),
        ("while 1:\n    if x:\n        break", True),
        ("for a in x:\n    return 1", True),
        ("try:\n    return 1\nexcept KeyError:\n    return 2", False),
        ("try:\n    return 1\nexcept KeyError:\n    a = 2", True),
        ("try:\n    a = 1\nexcept KeyError:\n    return 2", True),
        ("match x:\n    case 1:\n        a = 1\n    case _:\n        return 2", True),
        ("match x:\n    case 1:\n        return 1\n    case _:\n        return 2", False),
    ],
)
def test_may_the_end_of_a_function_be_reached(body, may):
    assert slips._ends(ast.parse(body).body) is may


# ---- one form of sums and of conditions

ASKS = '''def f(a, b, room):
    """a, b, room"""
    # >>> exercise: x | 甲
    if a.kind != "npu" or b.kind != "npu":
        return False
    return a.size == b.size and a.size * 2 + b.size <= room
    # <<<
'''


@pytest.mark.parametrize(
    "answer, wrong, same",
    [
        ("return 2 * a.size + b.size <= room", "return b.size + (a.size + a.size) <= room", True),
        ("return room >= (a.size + b.size) * 4", "both = 4 * a.size\nreturn both + b.size * 4 <= room", True),
        ("return room > a.size - b.size", "return a.size - b.size < room", True),
        ("return a.size - b.size < room", "return b.size - a.size < room", False),
        ("return a.size / 2 * b.size < room", "return b.size * a.size / 2 < room", True),
        ("return a.size // 2 * b.size < room", "return a.size * b.size // 2 < room", False),
        ("return a.kind == b.kind == 'npu'", "if a.kind != 'npu':\n    return False\nreturn b.kind == 'npu'", True),
        ("return a.kind == b.kind == 'npu'", "return a.kind == b.kind", False),
        ("return not (a.size < 3 or b.kind)", "if a.size >= 3:\n    return not b.kind\nreturn False", True),
        ("return a.kind in ('cpu', 'npu')", "return a.kind == 'npu' or a.kind == 'cpu'", True),
        ("for t in (a, b):\n    if t.kind:\n        return False\nreturn True", "return not (b.kind or a.kind)", True),
        ("return all(t.kind for t in (a, b))", "return bool(a.kind and b.kind)", True),
        ("return any(t.kind for t in (a, b))", "return bool(a.kind and b.kind)", False),
        ("return 1 if a.kind else 2", "if not a.kind:\n    return 2\nreturn 1", True),
        ("return a.size > 3", "return 3 <= a.size", False),
    ],
)
def test_the_same_sums_and_conditions(answer, wrong, same):
    one = ours(ASKS, "#")
    assert alike.bears(one, answer, wrong) or not same
    assert (alike.conditions(one, answer) == alike.conditions(one, wrong)) == same


def test_what_no_condition_is():
    one = ours(ASKS, "#")
    assert alike.conditions(one, "while a:\n    a = b\nreturn a") == ""
    assert alike.conditions(one, "return a ==") == ""
    assert alike.conditions(ours(GIVEN), "b();") == ""


def test_shares_rounded_down_to_whole_tiles():
    found = Diagnosis("half-range", {"blocks": 2, "right": 56, "part": 56 / 63, "bad": "?", "bad_count": 0})
    case = Case("9 rows of 7", (), None, blocks=2, tile=7)
    assert value_remarks.rounded_down(found, case).startswith("9 parts of 7 elements among 2 blocks: 4 each")
    for other in (replace(case, tile=8), replace(case, tile=None)):
        assert value_remarks.rounded_down(found, other) == ""
    found.numbers["part"] = 56 / 56
    assert value_remarks.rounded_down(found, case) == ""  # they come out even
    assert value_remarks.rounded_down(replace(found, key="only-tail"), case) == ""


def test_a_wrong_gradient_that_has_a_name():
    right = torch.tensor([1.0, 2.0, 3.0])
    known = [("twice", 2 * right), ("negated", -right), ("turned", right.flip(0))]
    assert value_remarks.named(2 * right, known, None) == "twice"
    assert value_remarks.named(3 * right, known, None) == ""
    assert value_remarks.named(2 * right, [*known, ("doubled", 2 * right)], None) == ""
