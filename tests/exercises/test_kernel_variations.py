"""The table of variations of our C++ solutions is that of today's solutions, and a mistake is found by it, or by the
text; known-wrong versions of the look-up name nothing."""

from __future__ import annotations

import random
import re
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from places import REPO

from labkit.exercises import alike, kernel_changes, kernel_text, known_mistakes, session, variations
from labkit.exercises.cases import Case
from labkit.exercises.changes import apart, by_chance, closed
from labkit.exercises.judge import examine
from labkit.exercises.spec import load, load_all
from labkit.exercises.stub import parse, template
from labkit.exercises.value_remarks import of_rows, of_sign, other_rows


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)


def digest(spec, ours=None) -> str:
    return variations.digest(ours or template(spec), spec.function(spec.cases)(0, False))


def test_no_row_is_stale():
    table = variations._table()
    specs = {s.id: s for s in load_all() if s.kind in ("kernel", "program")}
    today = {name: digest(spec) for name, spec in specs.items() if name in table}
    stale = [name for name in table if today.get(name) != table[name][0]]
    assert not stale, f"python scripts/kernel_variations.py {' '.join(stale)}"
    assert len(table) >= ROWS, sorted(set(specs) - set(table))


ROWS = 31


def test_a_digest_changes_with_the_solution():
    spec = load("tail_length")
    ours = template(spec)
    other = parse("\n".join(ours.lines).replace("tile", "tiles"), "//")
    assert digest(spec) != digest(spec, other)


def test_drawn_rows_are_what_their_variations_give():
    draw = random.Random(15)
    names = sorted(n for n in variations._table() if load(n).kind == "kernel" and not load(n).run)
    for name in draw.sample(names, 2):
        spec = load(name)
        ours, cases = template(spec), spec.function(spec.cases)(0, False)
        those, rows = kernel_changes.variations(ours), variations._table()[name][1]
        for number, marks in draw.sample(rows, 2):
            results = known_mistakes.outcome(spec, ours, those[number].cell, cases)
            assert [variations.mark(c, r) for c, r in zip(cases, results)] == marks, (name, those[number])


# ---- words and changes


GIVEN = """void f(uint32_t n, uint32_t width, uint32_t pitch)
{
    LocalTensor<half> a(0), b(0);
    // >>> exercise: all of it | 全部
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            Add(a[i * pitch], a, b[(i - 1) * width], width);
        }
        SetFlag<HardEvent::V_MTE2>(i);
    }
    // <<<
}"""


def made(key: str) -> list[tuple[dict, str]]:
    return [(v.names, v.cell) for v in kernel_changes.variations(parse(GIVEN, "//")) if v.key == key]


@pytest.mark.parametrize(
    "key, names, text",
    [
        ("instead-code", {"old": "pitch", "new": "width"}, "Add(a[i * width], a, b[(i - 1) * width], width);"),
        ("left-out-code", {"part": "* pitch"}, "Add(a[i], a, b[(i - 1) * width], width);"),
        ("left-out-code", {"part": "(i - 1) *"}, "b[width]"),
        ("exchanged-in", {"a": "a", "b": "b[(i - 1) * width]"}, "Add(a[i * pitch], b[(i - 1) * width], a, width);"),
        ("instead-code", {"old": "V_MTE2", "new": "MTE2_V"}, "SetFlag<HardEvent::MTE2_V>(i);"),
        ("instead-code", {"old": "<", "new": "<="}, "i <= n"),
        ("always", {"code": "i > 0"}, "if (true)"),
        ("instead-code", {"old": "Add", "new": "Sub"}, "Sub(a["),
    ],
)
def test_a_variation(key, names, text):
    assert any(names.items() <= told.items() and text in cell for told, cell in made(key)), made(key)


# Of each kind of change all that it makes of a line: key, what the sentence is told, the new text (~: a new line).
CHANGES = """\
statements: const int k = 1; using A = B; f(a); if (n > 1) return; x = (w) ? y[1] : f(c, n);
    no-code(f(a)): const int k = 1; using A = B;  if (n > 1) return; x = (w) ? y[1] : f(c, n);
    no-code(if (n > 1) return): const int k = 1; using A = B; f(a);  x = (w) ? y[1] : f(c, n);
    no-code(x = (w) ? y[1] : f(c, n)): const int k = 1; using A = B; f(a); if (n > 1) return;
    always(n > 1): const int k = 1; using A = B; f(a); if (true) return; x = (w) ? y[1] : f(c, n);
    never(n > 1): const int k = 1; using A = B; f(a); if (false) return; x = (w) ? y[1] : f(c, n);
    instead-code((w) ? y[1] : f(c, n), y[1]): const int k = 1; using A = B; f(a); if (n > 1) return; x = y[1];
    instead-code((w) ? y[1] : f(c, n), f(c, n)): const int k = 1; using A = B; f(a); if (n > 1) return; x = f(c, n);
operators: w = n / t; x = -y; if (!n && k) f();
    left-out-code(/ t): w = n; x = -y; if (!n && k) f();
    left-out-code(n /): w = t; x = -y; if (!n && k) f();
    exchanged-in(n, t): w = t / n; x = -y; if (!n && k) f();
    instead-code(/, *): w = n * t; x = -y; if (!n && k) f();
    instead-code(/, %): w = n % t; x = -y; if (!n && k) f();
    no-minus(): w = n / t; x = y; if (!n && k) f();
    left-out-code(!): w = n / t; x = -y; if (n && k) f();
    left-out-code(&& k): w = n / t; x = -y; if (!n) f();
    left-out-code(n &&): w = n / t; x = -y; if (!k) f();
    instead-code(&&, ||): w = n / t; x = -y; if (!n || k) f();
numbers: a[n] = 4 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(4, 5): a[n] = 5 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(4, 3): a[n] = 3 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(4, 8): a[n] = 8 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(4, 2): a[n] = 2 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(4, 0): a[n] = 0 + 0; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(0, 1): a[n] = 4 + 1; x = 0x1 + 2.5f; x = -3.0f;
    instead-code(0x1, 0x0): a[n] = 4 + 0; x = 0x0 + 2.5f; x = -3.0f;
    instead-code(0x1, 0x2): a[n] = 4 + 0; x = 0x2 + 2.5f; x = -3.0f;
    instead-code(2.5f, 0.0f): a[n] = 4 + 0; x = 0x1 + 0.0f; x = -3.0f;
    instead-code(2.5f, 1.0f): a[n] = 4 + 0; x = 0x1 + 1.0f; x = -3.0f;
    instead-code(2.5f, -2.5f): a[n] = 4 + 0; x = 0x1 + -2.5f; x = -3.0f;
    instead-code(3.0f, 0.0f): a[n] = 4 + 0; x = 0x1 + 2.5f; x = -0.0f;
    instead-code(3.0f, 1.0f): a[n] = 4 + 0; x = 0x1 + 2.5f; x = -1.0f;
    left-out-code([n]): a = 4 + 0; x = 0x1 + 2.5f; x = -3.0f;
    added-code(+ 1): a[n + 1] = 4 + 0; x = 0x1 + 2.5f; x = -3.0f;
    added-code(- 1): a[n - 1] = 4 + 0; x = 0x1 + 2.5f; x = -3.0f;
numbers: x = 1.0f + 7;
    instead-code(1.0f, 0.0f): x = 0.0f + 7;
    instead-code(1.0f, -1.0f): x = -1.0f + 7;
    instead-code(7, 8): x = 1.0f + 8;
    instead-code(7, 6): x = 1.0f + 6;
    instead-code(7, 0): x = 1.0f + 0;
words: Add(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_V>();
    instead-code(Add, Sub): Sub(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_V>();
    instead-code(SetFlag, WaitFlag): Add(a); WaitFlag<MTE2_V>(0); PipeBarrier<PIPE_V>();
    instead-code(MTE2_V, V_MTE2): Add(a); SetFlag<V_MTE2>(0); PipeBarrier<PIPE_V>();
    instead-code(MTE2_V, MTE2_MTE3): Add(a); SetFlag<MTE2_MTE3>(0); PipeBarrier<PIPE_V>();
    instead-code(PIPE_V, PIPE_MTE1): Add(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_MTE1>();
    instead-code(PIPE_V, PIPE_MTE2): Add(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_MTE2>();
    instead-code(PIPE_V, PIPE_MTE3): Add(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_MTE3>();
    instead-code(PIPE_V, PIPE_M): Add(a); SetFlag<MTE2_V>(0); PipeBarrier<PIPE_M>();
words: Cast(a, CAST_RINT); WaitFlag<V_MTE3>(0); f(true);
    instead-code(CAST_RINT, CAST_NONE): Cast(a, CAST_NONE); WaitFlag<V_MTE3>(0); f(true);
    instead-code(CAST_RINT, CAST_FLOOR): Cast(a, CAST_FLOOR); WaitFlag<V_MTE3>(0); f(true);
    instead-code(CAST_RINT, CAST_CEIL): Cast(a, CAST_CEIL); WaitFlag<V_MTE3>(0); f(true);
    instead-code(CAST_RINT, CAST_ROUND): Cast(a, CAST_ROUND); WaitFlag<V_MTE3>(0); f(true);
    instead-code(CAST_RINT, CAST_TRUNC): Cast(a, CAST_TRUNC); WaitFlag<V_MTE3>(0); f(true);
    instead-code(WaitFlag, SetFlag): Cast(a, CAST_RINT); SetFlag<V_MTE3>(0); f(true);
    instead-code(V_MTE3, MTE3_V): Cast(a, CAST_RINT); WaitFlag<MTE3_V>(0); f(true);
    instead-code(V_MTE3, MTE2_MTE3): Cast(a, CAST_RINT); WaitFlag<MTE2_MTE3>(0); f(true);
    instead-code(true, false): Cast(a, CAST_RINT); WaitFlag<V_MTE3>(0); f(false);
calls: f(a, b, b); w = Min(n, t); if (n, w) h(n); for (n, w) h();
    exchanged-in(a, b, f): f(b, a, b); w = Min(n, t); if (n, w) h(n); for (n, w) h();
    exchanged-in(a, b, f): f(b, b, a); w = Min(n, t); if (n, w) h(n); for (n, w) h();
    exchanged-in(n, t, Min): f(a, b, b); w = Min(t, n); if (n, w) h(n); for (n, w) h();
    instead-code(Min(n, t), n): f(a, b, b); w = n; if (n, w) h(n); for (n, w) h();
    instead-code(Min(n, t), t): f(a, b, b); w = t; if (n, w) h(n); for (n, w) h();
calls: x = f(1, 2, 3, 4, 5, 6);
    exchanged-in(1, 2, f): x = f(2, 1, 3, 4, 5, 6);
    exchanged-in(2, 3, f): x = f(1, 3, 2, 4, 5, 6);
    exchanged-in(3, 4, f): x = f(1, 2, 4, 3, 5, 6);
    exchanged-in(4, 5, f): x = f(1, 2, 3, 5, 4, 6);
    exchanged-in(5, 6, f): x = f(1, 2, 3, 4, 6, 5);
names: for (uint32_t i = t; i < w; i++) p.n(w); float x = 0;
    instead-code(t, w): for (uint32_t i = w; i < w; i++) p.n(w); float x = 0;
    instead-code(t, n): for (uint32_t i = n; i < w; i++) p.n(w); float x = 0;
    instead-code(w, t): for (uint32_t i = t; i < t; i++) p.n(w); float x = 0;
    instead-code(w, n): for (uint32_t i = t; i < n; i++) p.n(w); float x = 0;
    instead-code(p, q): for (uint32_t i = t; i < w; i++) q.n(w); float x = 0;
    instead-code(p, r): for (uint32_t i = t; i < w; i++) r.n(w); float x = 0;
    instead-code(p, s): for (uint32_t i = t; i < w; i++) s.n(w); float x = 0;
    instead-code(p, u): for (uint32_t i = t; i < w; i++) u.n(w); float x = 0;
    instead-code(p, v): for (uint32_t i = t; i < w; i++) v.n(w); float x = 0;
    instead-code(p, o): for (uint32_t i = t; i < w; i++) o.n(w); float x = 0;
    instead-code(w, n): for (uint32_t i = t; i < w; i++) p.n(n); float x = 0;
    instead-code(w, t): for (uint32_t i = t; i < w; i++) p.n(t); float x = 0;
everywhere: Add(a, b, n); Add(a, b, 4); f(4); Add(a, b, 4);
    exchanged-code(a, b): Add(b, a, n); Add(b, a, 4); f(4); Add(b, a, 4);
    everywhere(a, b): Add(b, b, n); Add(b, b, 4); f(4); Add(b, b, 4);
    everywhere(a, c): Add(c, b, n); Add(c, b, 4); f(4); Add(c, b, 4);
    everywhere(b, a): Add(a, a, n); Add(a, a, 4); f(4); Add(a, a, 4);
    everywhere(b, c): Add(a, c, n); Add(a, c, 4); f(4); Add(a, c, 4);
    everywhere(Add, Sub): Sub(a, b, n); Sub(a, b, 4); f(4); Sub(a, b, 4);
    everywhere(4, 5): Add(a, b, n); Add(a, b, 5); f(5); Add(a, b, 5);
    everywhere(4, 3): Add(a, b, n); Add(a, b, 3); f(3); Add(a, b, 3);
    no-code(Add(a, b, 4)): Add(a, b, n);  f(4);
moves: f(a); g(b); for (;;) { h(a); } if (n) { k(c); }
    behind(f(a), g(b)): g(b); f(a); for (;;) { h(a); } if (n) { k(c); }
    behind-loop(h(a)): f(a); g(b); for (;;) {  }~h(a); if (n) { k(c); }
    before-loop(h(a)): f(a); g(b); h(a);~for (;;) {  } if (n) { k(c); }
    behind-if(k(c)): f(a); g(b); for (;;) { h(a); } if (n) {  }~k(c);
    before-if(k(c)): f(a); g(b); for (;;) { h(a); } k(c);~if (n) {  }
whole: w = n + 1; x = y; a = b; t = 1; n = f(w, t);
    instead-code(n + 1, n): w = n; x = y; a = b; t = 1; n = f(w, t);
    instead-code(n + 1, t): w = t; x = y; a = b; t = 1; n = f(w, t);
    instead-code(n + 1, 0): w = 0; x = y; a = b; t = 1; n = f(w, t);
    instead-code(n + 1, 1): w = 1; x = y; a = b; t = 1; n = f(w, t);
    instead-code(y, 0): w = n + 1; x = 0; a = b; t = 1; n = f(w, t);
    instead-code(y, 1): w = n + 1; x = 1; a = b; t = 1; n = f(w, t);
    instead-code(1, n): w = n + 1; x = y; a = b; t = n; n = f(w, t);
    instead-code(1, w): w = n + 1; x = y; a = b; t = w; n = f(w, t);
    instead-code(1, 0): w = n + 1; x = y; a = b; t = 0; n = f(w, t);
into: f(a); if (n) { g(b); } h(c); for (;;) { k(a); } m(b);
    into-if(f(a)):  if (n) {~f(a); g(b); } h(c); for (;;) { k(a); } m(b);
    into-if(h(c)): f(a); if (n) { g(b); h(c);~}  for (;;) { k(a); } m(b);
    into-loop(h(c)): f(a); if (n) { g(b); }  for (;;) {~h(c); k(a); } m(b);
    into-loop(m(b)): f(a); if (n) { g(b); } h(c); for (;;) { k(a); m(b);~}
sizes: f(n, a, w + 1); x = y; if (n <= t) t = 2 * w;
    instead-code(n, n / 2): f(n / 2, a, w + 1); x = y; if (n <= t) t = 2 * w;
    instead-code(n, n - 1): f(n - 1, a, w + 1); x = y; if (n <= t) t = 2 * w;
    instead-code(n, n + 1): f(n + 1, a, w + 1); x = y; if (n <= t) t = 2 * w;
    instead-code(t, t / 2): f(n, a, w + 1); x = y; if (n <= t / 2) t = 2 * w;
    instead-code(t, t - 1): f(n, a, w + 1); x = y; if (n <= t - 1) t = 2 * w;
    instead-code(t, t + 1): f(n, a, w + 1); x = y; if (n <= t + 1) t = 2 * w;
"""
OF_A_KIND = {"whole": "nwt", "floating": "xy", "local": "abc", "queue": "pqrsuvod"}
KINDS = {name: kind for kind, names in OF_A_KIND.items() for name in names}


@pytest.mark.parametrize("row", re.split(r"\n(?=\w)", CHANGES.strip()), ids=lambda row: row.split(";")[0])
def test_all_changes_of_a_line(row):
    """The table of results knows a variation by its number: one more, one less or another order names the wrong one."""
    head, *wanted = row.split("\n")
    maker, text = head.split(": ", 1)
    made = []
    for key, told, edits in getattr(kernel_changes, f"_{maker}")(kernel_text.Code(text), KINDS):
        new = text
        for a, b, put in sorted(edits, reverse=True):
            new = new[:a] + put + new[b:]
        made.append(f"    {key}({', '.join(told.values())}): {new}".replace("\n", "~").rstrip())
    assert made == wanted


def test_statements_go_and_move():
    assert {n["code"] for n, _ in made("no-code")} >= {"SetFlag<HardEvent::V_MTE2>(i)"}
    assert any(cell.index("SetFlag") > cell.rindex("}") for _, cell in made("behind-loop"))
    assert any(cell.index("SetFlag") < cell.index("}") for _, cell in made("into-if"))


def test_an_answer_beside_ours():
    ours = parse(GIVEN, "//")
    theirs = re.sub(r"\bi\b", "row", ours.solution())
    assert not kernel_text.differences(ours, theirs), "only a name is another"
    found = kernel_text.differences(ours, theirs.replace("* width", "* pitch"))
    assert [(d.new, d.old) for d in found][:1] == [("pitch", "width")] and found[0].back.count("pitch") == 1


def test_what_is_called_is_no_name_of_the_learners():
    ours = parse(
        "def f(x):\n    # >>> exercise: all | 全部\n    # stub: pass\n    return x.new_empty(x.shape)\n    # <<<\n", "#"
    )
    found = kernel_text.differences(ours, "return torch.empty(x.shape)")
    assert ("torch.empty", "x.new_empty") in [(d.new, d.old) for d in found]
    assert not any((d.new, d.old) == ("torch", "x") and "new_empty" in d.back for d in found)
    found = kernel_text.differences(ours, "y = 1\nreturn x.new_empty(x.shape)")
    assert "y = 1\nreturn x.new_empty(x.shape)" in [d.there for d in found], "a line is a statement"
    more = kernel_text.differences(parse(ours_with(".contiguous()"), "#"), "return x.new_empty(x.shape)")
    assert [(d.new, d.old) for d in more][0] == ("", ".contiguous()")


def ours_with(tail: str) -> str:
    return f"def f(x):\n    # >>> exercise: all | 全部\n    # stub: pass\n    return x.new_empty(x.shape){tail}\n    # <<<\n"


def test_a_sign_that_the_answer_has_right_is_not_its_mistake():
    """Same finding, and the same words but for one: `>` would be named where the answer has `>=`."""
    spec = load("mix_ring")
    ours, late = template(spec), next(m for m in spec.mutants if m.name == "waits one tile late")
    other = ours.solution().replace("PIPE_MTE2", "PIPE_V")
    wrong = ours.mutant(late.regions)
    assert alike.bears(ours, wrong, wrong, lenient=True) and not alike.bears(ours, other, wrong, lenient=True)


def test_a_sentence_about_a_word_that_nobody_wrote_is_not_said():
    spec = load("row_half")
    wrong = template(spec).solution().replace("CAST_RINT", "CAST_TRUNC")  # the same results as CAST_FLOOR
    assert "`CAST_TRUNC` stands there where `CAST_RINT` belongs" in examine(spec, wrong).lines[0]


def test_a_python_answer_beside_ours():
    spec = replace(load("assess_leaves"), mutants=())  # whatever else is known of it
    right = template(spec).solution()
    wrong = right.replace('== "cpu"', 'in ("cpu", "others")')  # without the first operator it would be right as well
    assert '`gone = [o for o in operators if o.kernel == "cpu"]` in place' in examine(spec, wrong).lines[0]
    assert (
        "`sum` in place of `mean`"
        in examine(
            replace(load("ill_launch"), mutants=()), "result = (torch.stack(vectors) * weights[:, None]).mean(0)"
        ).lines[0]
    )


def test_a_mark_is_of_what_is_wrong_and_of_the_values():
    right = np.arange(8, dtype=np.float32)
    case = Case("x", (), right)
    assert variations.mark(case, [right]) == variations.mark(case, [right + 1e-8]) == "="
    one, other = right.copy(), right.copy()
    one[3], other[4] = 9, 9
    assert len({variations.mark(case, [a]) for a in (one, other, right + 1, right + 2)}) == 4


# ---- whole checks


def test_a_wrong_kernel_is_named_by_its_results():
    ours = template(load("card_repair")).solution()
    wrong = ours.replace("mine", "n")
    assert "`n` everywhere where `mine` belongs" in examine(load("card_repair"), wrong).lines[0]


def test_by_its_text_where_the_table_is_of_no_use(monkeypatch):
    monkeypatch.setattr(variations, "_table", dict)
    spec = load("cube_right")
    wrong = template(spec).solution().replace("b2[i * across", "b2[i * deep")
    assert "`deep` stands there where `across` belongs" in examine(spec, wrong).lines[0]
    monkeypatch.setattr(kernel_changes, "variations", lambda ours: [])
    assert "with `across` in place of `deep` your answer is right" in examine(spec, wrong).lines[0]


def test_marks_alone_name_nothing(monkeypatch):
    """A table that says the wrong thing: the variation is built, and its results are others."""
    spec = load("card_repair")
    ours = template(spec)
    number = next(k for k, v in enumerate(kernel_changes.variations(ours)) if v.key == "instead-code")
    rows = [(number, [""] * 9)]
    monkeypatch.setattr(variations, "_table", lambda: {spec.id: (digest(spec), rows)})
    monkeypatch.setattr(variations, "mark", lambda case, result: "")
    monkeypatch.setattr(variations, "difference_sentence", lambda *rest: "")
    wrong = ours.solution().replace("mine", "n")
    assert "Your results" not in examine(spec, wrong).lines[0]


# ---- rows


@pytest.mark.parametrize(
    "of, said",
    [
        (
            lambda x: x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)),
            "number of its own: the largest",
        ),
        (lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), ""),
        (lambda x: 0 * x, ""),
        (lambda x: 3 + x - np.log(np.exp(x).sum(-1, keepdims=True)), ""),
        (
            lambda x: (x - np.log(np.exp(x).sum(-1, keepdims=True))) * (1 + np.arange(5)[:, None]),
            "one factor of its own",
        ),
        (  # small errors, as rounding makes them, and a little larger from row to row
            lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)) + 1e-3 * np.sin(9 * x) * (1 + np.arange(5)[:, None]),
            "",
        ),
    ],
)
def test_rows_that_are_off_by_one_number(of, said):
    x = np.random.default_rng(1).normal(2, 3, (5, 40))
    right = x - np.log(np.exp(x).sum(-1, keepdims=True))
    found = of_rows(of(x), right, [x])
    assert said in found and bool(said) == bool(found)


@pytest.mark.parametrize(
    "got, expected, said",
    [
        (lambda x: x[::2], lambda x: x[:3], "Other rows of input 1 than asked for: 0, 2, 4, where 0, 1, 2 belong."),
        (lambda x: x[:, 2:], lambda x: x[:, :2], "Other columns of input 1 than asked for: 2, 3, where 0, 1 belong."),
        (lambda x: x[::2] + 1, lambda x: x[:3], ""),
        (lambda x: x[:1], lambda x: x[1:2], ""),
        (lambda x: x[:3], lambda x: x[:2], ""),
    ],
)
def test_rows_of_an_input_that_were_not_asked_for(got, expected, said):
    x = np.arange(24.0).reshape(6, 4)
    assert other_rows(got(x), expected(x), [x]) == said
    assert other_rows(got(x), expected(x), [np.repeat(x, 2, 0)]) == ""


def test_a_statement_that_stands_at_another_place():
    ours = parse(
        "void f()\n{\n    // >>> exercise: all | 全部\n    launch();\n    wait();\n    copy();\n    // <<<\n}", "//"
    )
    right = variations._plain("launch(); wait(); copy();")
    for cell, said in (
        ("launch();\ncopy();\nwait();\n", "`wait();` stands at another place than it must: behind `launch();`"),
        ("launch();\ncopy();\n", "`wait();` is missing"),
    ):
        found = variations.difference_sentence(ours, cell, lambda back: right in variations._plain(back), None)
        assert found.startswith(said), found


def test_a_statement_of_python_that_stands_at_another_place():
    part = variations._elsewhere(", mask=m", "m = a < n\nload(x, mask=m)", "m = a < n\nload(x)\nsave(y, mask=m)", "#")
    assert part.startswith("`, mask=m` is missing"), part
    ours = parse("def f():\n    # >>> exercise: all | 全部\n    wait()\n    launch()\n    copy()\n    # <<<\n", "#")
    right = variations._plain("wait()\nlaunch()\ncopy()")
    for cell, said in (
        ("launch()\ncopy()\nwait()\n", "`wait()` stands at another place than it must: as the first line"),
        ("launch()\ncopy()\n", "`wait()` is missing"),
    ):
        found = variations.difference_sentence(ours, cell, lambda back: right in variations._plain(back), None)
        assert found.startswith(said), found


# ---- Python: the answer's own text


PYTHON = "def f(xs, n):\n    # >>> exercise: all of it | 全部\n    total = sum(xs) // n\n    # <<<\n    return total\n"


@pytest.mark.parametrize(
    "cell, said",
    [
        ("total = sum(set(xs)) // n", "With `xs` in place of `set(xs)`"),
        ("total = sum(xs) / n / 1000", ""),
        ("total = sum(xs) // n // 2", "`// 2` is too much"),
        ("total = sum(xs) // (n + 1)", "`+ 1`"),
        ("total = sum(x for x in [*reversed(list(xs)), *[]] if x == x or x != x) // n * 3", "`* 3` is too much"),
        ("total = -(-sum(xs) // n)", "rounds up where it should round down"),
    ],
)
def test_one_change_makes_it_right(cell, said):
    ours = parse(PYTHON, "#")

    def is_right(text):
        names: dict = {}
        try:
            exec(text, names)
            return all(names["f"](xs, n) == sum(xs) // n for xs, n in (([3, 3, 9, 8], 2), ([1, 2, 2], 3), ([7], 1)))
        except Exception:
            return False

    found = variations.repaired(ours, cell, is_right, coarse=False)
    assert said in found or "in place of" in found if said else not found, found
    assert (REPO / "data" / "kernel_variations.csv").is_file()


def test_what_fits_by_chance_is_not_proposed():
    """A small factor, or a name, that neither our text nor the answer's has."""
    text, halved = PYTHON, PYTHON.replace("// n", "// n // 2")
    assert by_chance("* 2.0", "", text) and not by_chance("* 2.0", "", halved)
    assert not by_chance("* 1024.0", "", text) and not by_chance("+ 1", "", halved)
    assert by_chance("abs().mean()", "abs()", text) and not by_chance("sum(xs)", "xs", text)
    assert not by_chance("min", "max", text) and by_chance("sqrt()", "()", text)


@pytest.mark.parametrize(
    "cell, said",
    [
        ("with lock:\n    first()\nsecond()", "`second()` has to stand inside of `with lock:`"),
        ("with lock:\n    third()\n    first()\n    second()", "`third()` has to stand in front of `with lock:`"),
        ("with lock:\n    first()\n    second()\n    last()", "`last()` has to stand behind the block of `with lock:`"),
        ("first()\nwith lock:\n    second()", ""),
    ],
)
def test_a_statement_on_the_wrong_side_of_a_with(cell, said):
    ours = parse("def f(lock):\n    # >>> exercise: all | 全部\n    pass\n    # <<<\n", "#")
    wanted = {
        "with lock:\n    first()\n    second()",
        "third()\nwith lock:\n    first()\n    second()",
        "with lock:\n    first()\n    second()\nlast()",
    }

    def is_right(text):
        return any(text.endswith(textwrap.indent(one, "    ")) for one in wanted)

    found = known_mistakes._across_with(ours.join(cell, "exercise"), is_right)
    assert found.startswith(said) if said else not found, found


def test_an_operator_that_the_answer_only_has_within_another_is_not_named():
    right = "tile = room // 128 * 128"
    for source, may in (("tile = room // 8", False), ("tile = room / 8 * 8", True)):
        names = {"old": "//", "new": "/"}
        assert variations._plausible("instead", names, source, False, variations._parsed(source), right) == may
    assert kernel_text.stands("5", "n//5*2") and not kernel_text.stands("<", "a <= b")  # a number may touch operators


def test_what_the_answer_rounds_up_is_not_called_rounded_down():
    right = "need = -(-(a + b) // page)"
    for source, may in (("need = -(-a // page) + -(-b // page)", False), ("need = (a + b) // page", True)):
        assert variations._plausible("rounds-down", {}, source, False, variations._parsed(source), right) == may


def test_an_excerpt_at_either_end_of_a_text():
    words = " ".join(f"w{i:02}" for i in range(40))
    assert kernel_text.around(words, 0, 3) == "w00 w01 w02 w03 w04 w05 ..."
    assert kernel_text.around(words, words.index("w04"), 3).startswith("w00 w01")
    assert kernel_text.around(words, words.index("w05"), 3).startswith("w00 w01")
    assert kernel_text.around(words, words.index("w06"), 3).startswith("... w01 w02")
    assert kernel_text.around(words, words.index("w39"), 3).endswith("w39")


def test_parts_of_a_text_begin_with_its_first_word():
    def parts(text: str, lines: bool = False) -> list[str]:
        code = kernel_text.Code(text)
        return [code.between(a, b) for a, b in kernel_text._parts(code, lines)]

    assert parts("; a = 1; if (b; c) { d; }") == [";", "a = 1;", "if (b; c) {", "d;", "}"]
    assert parts("(a; b); c") == ["(a; b);", "c"]
    assert parts("a = 1\nb(2,\n3)\nc", lines=True) == ["a = 1", "b(2, 3)", "c"]


def test_results_that_say_little():
    """Of these many a mistake gives the same, so no mistake is named by them."""
    told = known_mistakes.Reported.__new__(known_mistakes.Reported)
    cases = [Case("a", (), True, None), Case("b", (), False, None)]
    little = known_mistakes._say_little
    assert little(cases, {id(cases[0]): True, id(cases[1]): told}) == "finding"
    assert little(cases, {id(cases[0]): True, id(cases[1]): False}) == "bool"
    numbers = [Case("a", (), 1.0, None), Case("b", (), 2.0, None)]
    assert little(numbers, {id(numbers[0]): 3.0, id(numbers[1]): 3.0}) == "one"
    assert little(numbers, {id(numbers[0]): 3.0, id(numbers[1]): 4.0}) == ""


def test_what_is_wrong_by_an_inputs_sign():
    x = np.linspace(-2, 2, 41)
    right = np.maximum(x, 0) * 2
    said = "Wrong exactly where x is negative: -4 at the first such place, 0 expected."
    assert of_sign(2 * x, right, {"w": np.ones(41), "x": x}) == said
    assert of_sign(np.abs(x) * 2, right, {"x": x}) == said.replace("-4", "4")
    assert of_sign(2 * x + 1, right, {"x": x}) == ""  # wrong where x is positive, too
    assert of_sign(np.where(x < -1, x, right), right, {"x": x}) == ""  # only below -1
    assert of_sign(2 * x[18:], right[18:], {"x": x[18:]}) == ""  # two elements alone
    assert "positive" in of_sign(-right, right, {"x": x})


@pytest.mark.parametrize(
    "put, new, said",
    [
        ("* 2.0", "", True),
        ("(before) * 2.0", "(before)", True),
        ("sorted(before)", "before", True),
        ("* 1024.0", "", False),
        ("* 3.0", "", False),  # our text has 3
        ("+ 1", "", False),
        ("sorted(rest)", "before", True),  # a name that neither text has
        ("n // 2", "n", False),
        ("int(n)", "n", False),  # our text has int
    ],
)
def test_a_repair_that_fits_by_chance(put, new, said):
    assert by_chance(put, new, "return int(before) // 3", "n, rest") == said


def test_signs_of_an_input_with_hardly_any_of_the_other_sign_say_nothing():
    got, right = np.r_[np.zeros(20), 5.0], np.r_[np.ones(20), 5.0]
    assert of_sign(got, right, {"x": np.r_[np.ones(20), -1.0]}) == ""


@pytest.mark.parametrize(
    "mine, body, shown",
    [
        ("copy(a, s); back(b);", "copy(a, s); sync(s); back(b);", "sync ( s ) ;"),  # not `); sync(s`
        ("f(a, b);", "f(a, b, c);", ", c"),
        ("x = 1;", "x = 1; y = f(2);", "y = f ( 2 ) ;"),
    ],
)
def test_what_is_missing_is_shown_with_its_brackets_closed(mine, body, shown):
    codes = [kernel_text.Code(text) for text in (mine, body)]
    (there,) = kernel_text._hunks(*codes, whole=False)
    assert " ".join(codes[1].word[there[2] : there[3]]) == shown
    (there,) = kernel_text._hunks(*codes[::-1], whole=False)  # the answer has too much
    assert " ".join(codes[1].word[there[0] : there[1]]) == shown


@pytest.mark.parametrize(
    "before, after, taken, put",
    [
        ("y = x * 0.5", "y = x * 0.5 ** 2", "0.5", "0.5 ** 2"),  # not the 5 of 0.5
        ("n = 1000000.0", "n = 1.0", "1000000.0", "1.0"),
        ("n = 1e-5 * x", "n = 1e-6 * x", "1e-5", "1e-6"),
    ],
)
def test_a_number_is_shown_whole(before, after, taken, put):
    assert apart(before, after)[:2] == (taken, put)


@pytest.mark.parametrize(
    "text, said", [("f(a[1])", True), (") if f(", False), ("(]", False), ("[(])", False), ("", True)]
)
def test_closed_brackets(text, said):
    assert closed(text) is said
