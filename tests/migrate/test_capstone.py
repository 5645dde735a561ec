"""The capstone's judge: an honest entry passes, and every way to a better figure than one's operator has is refused or
shown with the true figure."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch
from places import REPO

import labkit
from labkit import device
from labkit.migrate import capstone, capstone_entry, leaderboard
from labkit.migrate.capstone_tasks import TASKS

FILLED = {  # the template's lines marked FILL
    '"FILL: a name for the leaderboard"': '"rows in tiles"',
    "        // FILL: ys = residual + scale * x. The rest may be changed as well: tiles, queues, cores, one copy less.\n": (
        "        for (uint32_t r = 0; r < here; r++) Mul(xs[r * pitch], xs[r * pitch], scales, static_cast<int32_t>(pitch));\n"
        "        Add(ys, xs, rs, static_cast<int32_t>(here * pitch));\n"
    ),
    '"blocks": 1, ': '"blocks": max(1, min(rows, 40, rows * width // 2048)), ',
    "- operator_us: FILL\n- chain_us: FILL\n- network_us: FILL\n- network_chain_us: FILL\n- bound_by: FILL\n": (
        "operator_us: 1\n"
    ),
}
HONEST = (REPO / "kernels" / "capstone" / "template.py").read_text(encoding="utf-8")
for old, new in FILLED.items():
    assert HONEST.count(old) == 1, old
    HONEST = HONEST.replace(old, new)
EXAMPLE = (REPO / "kernels" / "capstone" / "example.py").read_text(encoding="utf-8")


def changed(*pairs: tuple[str, str], source: str = HONEST) -> str:
    """The entry with each text replaced by the one beside it; each stands in it once."""
    for old, new in pairs:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


@pytest.fixture(scope="module")
def honest():
    return capstone.judge(HONEST, seed=11)


@pytest.fixture(scope="module")
def example():
    return capstone.judge(EXAMPLE, seed=3)


LAST = "    inS.FreeTensor(scales);\n}\n"
RAW = "    __gm__ half *to = (__gm__ half*)y, *a = (__gm__ half*)x, *b = (__gm__ half*)residual, *c = (__gm__ half*)scale;\n"
ALL = "for (uint32_t i = 0; i < rows * width; i++)"


# ---- honest entries


@pytest.mark.parametrize("name", ["own", "example"])
def test_an_honest_entry_passes(name, honest, example):
    verdict = honest if name == "own" else example
    assert verdict.listed and verdict.right == verdict.launches >= 18 and not verdict.wrong, verdict
    assert verdict.marks["function"] == 15 and verdict.marks["network"] == 5
    assert 2 < verdict.marks["operator"] <= 5 and 1 < verdict.marks["speed"] <= 5 and verdict.gain > 1.5
    assert verdict.figures["operator_us"] < verdict.figures["chain_us"]
    assert verdict.figures["network_us"] < verdict.figures["network_chain_us"]


def test_times_do_not_depend_on_what_is_drawn(honest):
    again = capstone.judge(HONEST)  # a fresh seed
    assert again.figures == honest.figures and again.gain == honest.gain and again.total == honest.total


def test_a_report_that_says_what_is_true_has_its_marks(honest):
    lines = "\n".join(f"- {key}: {value}" for key, value in honest.figures.items())
    true = capstone.judge(changed(("operator_us: 1\n", lines + "\n")), seed=1)
    assert true.marks["defence"] == 10 and not true.overstated and true.total == honest.total + 10


def test_the_example_says_what_is_true_and_the_template_is_judged(example):
    assert example.listed and example.marks["defence"] == 10, example
    verdict = capstone.judge((REPO / "kernels" / "capstone" / "template.py").read_text(encoding="utf-8"), seed=1)
    assert not verdict.listed and verdict.right == 0 and verdict.total == 0 and not verdict.stated, verdict


# ---- the function


GAMES = {
    # computes once for a shape, keeps the result in static memory and gives it back
    "caches by shape": (
        ('"blocks": max(1, min(rows, 40, rows * width // 2048))', '"blocks": 1'),
        (
            LAST,
            LAST[:-2] + "    static uint32_t of = 0; static half kept[1024 * 1536];\n    PipeBarrier<PIPE_ALL>();\n" + RAW
            + "    const bool known = of == rows * width;\n"
            + "    __builtin_memcpy(known ? (void*)to : kept, known ? (void*)kept : to, rows * width * sizeof(half));\n"
            + "    of = rows * width;\n}\n",
        ),
    ),
    # every second launch writes nothing: what lies in the memory is the last result
    "leaves the last result": (
        (
            "        DataCopyPad(yGm[row * width], ys, tile);\n",
            "        static uint32_t times = 0;\n        if (row == 0) times++;\n        if (times % 2) DataCopyPad(yGm[row * width], ys, tile);\n",
        ),
    ),
    "knows the shown shapes": (
        ('"scalars": [rows, width]', '"scalars": [rows if (rows, width) in ((4, 64), (176, 256), (1024, 1024)) else 1, width]'),
    ),
    "changes an input": ((LAST, "    if (GetBlockIdx() == 0) {\n" + RAW + "    b[0] = static_cast<half>(7.0f);\n    }\n" + LAST),),
    "leaves a row out": (("row < rows; row +=", "row + 1 < rows; row +="),),
    "a race": (("        xs = inX.DeQue<half>();\n", ""),),
}  # fmt: skip


@pytest.mark.parametrize("name", GAMES)
def test_a_wrong_operator_is_not_listed(name, honest):
    verdict = capstone.judge(changed(*GAMES[name]), seed=11)
    assert not verdict.listed and verdict.right < verdict.launches, verdict
    assert (
        verdict.marks.get("function", 0) < 15 and verdict.marks.get("operator", 0) == verdict.marks.get("speed", 0) == 0
    )
    assert verdict.total < honest.total


def test_right_alone_and_wrong_in_the_network():
    of = changed(('"scalars": [rows, width]', '"scalars": [rows - (rows == 136), width]'))
    verdict = capstone.judge(of, seed=1)
    assert verdict.right == verdict.launches and verdict.marks["network"] == 0 and not verdict.listed, verdict


# ---- the clock


def test_what_the_clock_does_not_see_is_refused():
    """Plain C++ on GM costs nothing on the twin; so does plain C++ on UB between two copies."""
    start = HONEST.index("    uint32_t pitch")
    end = HONEST.index(LAST) + len(LAST)
    alone = (
        HONEST[:start]
        + RAW
        + f"    if (GetBlockIdx() == 0) {ALL} to[i] = (float)b[i] + (float)c[i % width] * (float)a[i];\n}}\n"
        + HONEST[end:]
    )
    verdict = capstone.judge(alone, seed=1)
    assert verdict.refused and verdict.total == 0 and not verdict.listed, verdict
    vector = HONEST[HONEST.index("        for (uint32_t r = 0;") : HONEST.index("        inX.FreeTensor(xs)")]
    plain = (
        "        __ubuf__ half *p = (__ubuf__ half*)ys.GetPhyAddr(), *q = (__ubuf__ half*)xs.GetPhyAddr(), "
        "*s = (__ubuf__ half*)rs.GetPhyAddr(), *t = (__ubuf__ half*)scales.GetPhyAddr();\n"
        "        for (uint32_t i = 0; i < here * pitch; i++) p[i] = (float)s[i] + (float)t[i % pitch] * (float)q[i];\n"
    )
    verdict = capstone.judge(changed((vector, plain)), seed=1)
    assert "GetPhyAddr" in verdict.refused[0] and verdict.total == 0, verdict


def test_each_thing_that_the_clock_must_have_seen():
    def record(us=9.0, **sums):
        seen = {"bytes.to_ub": 2 * 65536, "bytes.from_ub": 65536, "vector16": 65536} | sums
        return SimpleNamespace(time_us=us, cores=[{"block": 0, **seen}])

    task, unseen = TASKS["scaled_residual"], capstone._unseen
    assert unseen(task, (128, 256), record()) == ""
    for less in ({"bytes.to_ub": 131071}, {"bytes.from_ub": 65535}, {"vector16": 0}, {"us": 0.01}):
        assert unseen(task, (128, 256), record(**less)), less


def test_python_of_an_entry_reaches_no_clock(honest):
    """Whatever its file does, it does in a process that holds neither the clock nor the judge."""
    sabotage = (
        "import time, sys, json\ntime.perf_counter = time.time = lambda: 0.0\njson.loads = None\n"
        f"sys.path.insert(0, {str(REPO)!r})\nimport labkit.device\nlabkit.device.clock = labkit.device.timeline = None\n"
        "print('[{\"blocks\": 1}]')\n\ndef launch("
    )
    verdict = capstone.judge(changed(("def launch(", sabotage)), seed=11)
    assert verdict.figures == honest.figures and verdict.marks == honest.marks


def test_a_launch_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(capstone_entry, "_SECONDS", 1)
    for body in ("while True: pass", "x = [0] * 10**10", "open('left', 'wb', 0).write(b'x')", "raise SystemExit(3)"):
        with pytest.raises(ValueError, match="launch"):
            capstone_entry.plans(
                capstone_entry.read(changed(("    return {", f"    {body}\n    return {{"))), [(4, 64)]
            )


@pytest.mark.parametrize(
    "answer", ["3", "{'blocks': 0}", "{'blocks': 1, 'scalars': ['x']}", "{'time_us': 0.1}", "{'blocks': True}"]
)
def test_launch_says_blocks_and_scalars_and_nothing_else(answer):
    with pytest.raises(ValueError, match="blocks"):
        capstone_entry.plans(
            capstone_entry.read(changed(("    return {", f"    return {answer}\n    return {{"))), [(4, 64)]
        )


# ---- the report


def test_numbers_better_than_measured_cost_the_defence(honest):
    true = dict(honest.figures)
    for key, value in (("operator_us", 0.5), ("chain_us", 1.5), ("network_us", 0.9), ("network_chain_us", 1.1)):
        lines = "\n".join(f"{k}: {v * value if k == key else v}" for k, v in true.items())
        stated = capstone._stated(lines)
        assert [k for k in capstone.STATED if capstone._better(k, stated[k], true[k])] == [key]
    verdict = capstone.judge(changed(("operator_us: 1\n", "operator_us: 0.5\nbound_by: V\n")), seed=11)
    assert verdict.overstated == ("operator_us",) and verdict.marks["defence"] == 0
    assert f"operator_us: {true['operator_us']:.2f}, the report says 0.50 - better" in str(verdict)
    assert verdict.figures == honest.figures, "what is written changes nothing of what is measured"


def test_a_number_said_twice_or_not_a_number():
    assert capstone._stated("operator_us: 5\n operator_us: 3.5.\nchain_us: nan\nbound_by: mte2,\ntotal: 40") == {
        "operator_us": 3.5, "chain_us": pytest.approx(float("nan"), nan_ok=True), "bound_by": "MTE2",
    }  # fmt: skip
    assert capstone._better("chain_us", float("nan"), 3.0) and capstone._better("operator_us", float("inf"), 3.0)


# ---- the leaderboard


SLOW = changed(("rows in tiles", "on one core"), ("max(1, min(rows, 40, rows * width // 2048))", "1"))


def test_the_file_is_not_believed(tmp_path, monkeypatch):
    """Figures, names and sources are edited; the clock, the judge and the chip are others in this process."""
    board = leaderboard.Board(tmp_path / "board.json", "scaled_residual", seed=5)
    with monkeypatch.context() as here:  # entering, judged in this process to be quick
        here.setattr(leaderboard, "judged", lambda sources, timed: [capstone.judge(s, timed=timed) for s in sources])
        for source in (SLOW, HONEST, HONEST):
            assert board.enter(source).listed
    monkeypatch.setattr(device, "clock", lambda: device.Clock(0.0, 0.0, 0))
    monkeypatch.setattr(capstone, "judge", None)
    monkeypatch.setenv("LABKIT_CHIP", "910B4")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere.py")
    held = json.loads(board.path.read_text())
    slow, fast = held["entries"]
    swapped = fast | {"name": "better", "source": fast["source"].replace("rows in tiles", "better")}
    slow |= {"total": 40.0, "gain": 99.0, "operator_us": 0.01}
    board.path.write_text(json.dumps(held | {"entries": [slow, fast, swapped, {"name": "empty"}]}))
    rows = board.standing().rows
    assert [(r.place, r.name) for r in rows] == [(1, "rows in tiles"), (2, "on one core"), (0, "better"), (0, "empty")]
    assert not rows[0].note and "40.0" in rows[1].note and rows[1].gain < 1 < rows[0].gain and rows[1].total < 40
    assert fast["digest"] in rows[2].note and rows[3].total == 0


def test_entering_judges_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(capstone, "judge", lambda *a, **k: pytest.fail("here"))
    monkeypatch.setattr(capstone, "_unseen", lambda *a: "")
    board = leaderboard.Board(tmp_path / "board.json", "scaled_residual", seed=5)
    before = board.path.read_text()
    verdict = board.enter(changed(*GAMES["leaves a row out"]))
    assert not verdict.listed and verdict.right < verdict.launches and board.path.read_text() == before
    with pytest.raises(ValueError, match="residual_rms_norm"):
        board.enter(EXAMPLE)


def test_the_digest_is_of_the_kernel_and_all_that_it_includes(monkeypatch):
    own, other = capstone_entry.read(EXAMPLE), capstone_entry.read(EXAMPLE + "\n")
    assert own.digest != other.digest
    monkeypatch.setattr(capstone_entry.includes, "text_of", lambda *a: "another kernel of the lab")
    assert capstone_entry.read(EXAMPLE).digest != own.digest


# ---- what is no entry


@pytest.mark.parametrize(
    "source, word",
    [
        ("def launch(:", "line 1"),
        ("NAME = 'a'", "TASK, KERNEL, REPORT"),
        (HONEST.replace('"rows in tiles"', "input()"), "NAME"),
        (HONEST.replace("def launch", "def start"), "launch"),
        (HONEST.replace('"scaled_residual"', '"softmax"'), "residual_rms_norm"),
    ],
)
def test_what_is_no_entry_says_why(source, word):
    with pytest.raises(ValueError, match=word):
        capstone.judge(source)


def test_a_kernel_that_takes_something_else_is_refused_in_words():
    verdict = capstone.judge(changed(('"scalars": [rows, width]', '"scalars": [rows]')), seed=1)
    assert verdict.refused and not verdict.listed and "argument" in verdict.refused[0].lower(), verdict
    with pytest.raises(labkit.CompileError):
        capstone.judge(changed(("Add(ys, xs, rs,", "Ad(ys, xs, rs,")), seed=1)


def test_boards_say_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="scaled_residual"):
        leaderboard.Board(tmp_path / "none.json", "softmax")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match=r"bad\.json"):
        leaderboard.Board(tmp_path / "bad.json")
    leaderboard.Board(tmp_path / "a.json", "scaled_residual")
    with pytest.raises(ValueError, match="scaled_residual"):
        leaderboard.Board(tmp_path / "a.json", "residual_rms_norm")
    assert str(leaderboard.Board(tmp_path / "a.json").standing()).startswith("scaled_residual")
    assert leaderboard._main([]).startswith("python -m") and "bad.json" in leaderboard._main(
        [str(tmp_path / "bad.json")]
    )


def test_two_that_enter_at_once_are_both_on_the_board(tmp_path, monkeypatch):
    board = leaderboard.Board(tmp_path / "new folder" / "board.json", "scaled_residual", seed=5)

    def one_more_meanwhile(sources, timed):
        board._write(board._read() | {"entries": [{"name": "of another"}, {"no name": 1}]})
        return [capstone.judge(sources[0], timed=timed)]

    monkeypatch.setattr(leaderboard, "judged", one_more_meanwhile)
    assert board.enter(HONEST).listed
    assert [e.get("name") for e in board._read()["entries"]] == ["of another", None, "rows in tiles"]


def test_one_that_never_ends_takes_no_others_place(monkeypatch):
    """A judge that answers what it is asked, and sleeps over one of the sources."""
    child = "import json, sys, time; asked = json.load(sys.stdin)['sources']; 'slow' in asked and time.sleep(60); "
    child += "'gone' in asked and sys.exit('gone'); print(json.dumps(asked), end='')"
    monkeypatch.setattr(leaderboard, "_CHILD", child)
    said = leaderboard.judged(["one", "gone", "two"], 0)
    assert said[::2] == ["one", "two"] and "gone" in said[1]
    monkeypatch.setattr(leaderboard, "SECONDS", 2)
    said = leaderboard.judged(["slow", "two"], 0)
    assert "2 s" in said[0] and said[1] == "two"
    with pytest.raises(RuntimeError, match="2 s"):
        leaderboard.judged(["slow"], 0)


@pytest.mark.parametrize("name", TASKS)
def test_the_chain_is_what_stands_in_the_network(name):
    """In fp32 on the CPU the network with the chain put into its places gives what the network gives."""
    from labkit.migrate import model, scenes

    net = model.small(1, hidden=32, inner=32).eval()
    batch = scenes.batch(scenes.draw(2, seed=0), "caption")
    calls = []

    def chain(*t):
        calls.append(t)
        return [o for o in TASKS[name].chain(*t) if o is not None]

    with torch.no_grad():
        before = net(**batch).logits
        with TASKS[name].installed(net, chain):
            inside = net(**batch).logits
        assert len(calls) == {"residual_rms_norm": 2, "scaled_residual": 4}[name]
        assert torch.allclose(inside, before, atol=1e-5) and torch.equal(net(**batch).logits, before)
        with TASKS[name].installed(net, lambda *t: [t[0]] * 2 if len(TASKS[name].outputs) > 1 else [t[0]]):
            assert not torch.allclose(net(**batch).logits, before, atol=1e-2), "another operator shows"
