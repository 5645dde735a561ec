"""The operators of the simulated device against published times: the bars, and that the tables are of this model."""

from __future__ import annotations

import csv
import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from labkit import chips, device, paths  # noqa: E402
from labkit.calibration import operators  # noqa: E402
from labkit.device import library  # noqa: E402

if device.install() != "sim":
    pytest.skip("a real NPU models nothing", allow_module_level=True)


@pytest.fixture(scope="module")
def rows() -> list[operators.Row]:
    return operators.published()


@pytest.fixture(scope="module")
def said() -> dict[tuple[str, str], dict]:
    with open(paths.data_dir() / "operator_costs.csv", encoding="utf-8", newline="") as file:
        return {(line["class"], line["source"]): line for line in csv.DictReader(file)}


def test_the_bars(said):
    """By constants that had not seen a row's source; classes that one source has alone are not judged."""
    judged = {k: line for (k, source), line in said.items() if source == "all" and line["unseen_error_percent"]}
    unseen = {name: float(line["unseen_error_percent"]) for name, line in judged.items()}
    assert unseen["all"] <= 18 and unseen["attention"] <= 25
    assert {n: e for n, e in unseen.items() if e > 30 and int(judged[n]["unseen_rows"]) >= 8} == {}
    assert int(said["all", "all"]["rows"]) > 350 and int(judged["all"]["unseen_rows"]) > 150
    assert "softplus" not in judged and said["softplus", "cann-bench"]["unseen_rows"] == "0"


def test_a_row_is_judged_only_where_another_source_has_four_of_its_class(rows, monkeypatch):
    monkeypatch.setattr(operators, "fit", lambda others, **_: {n: chips.flat()[n] for n in operators.CONSTANTS})
    some = [r for r in rows if r.kind in ("softplus", "optimizer", "transcendental")]
    seen = operators.cross(some)
    assert {(r.kind, r.source) for r in some if r.id in seen} == {
        ("optimizer", "cann-bench"),
        ("optimizer", "trace mspa1"),
        ("transcendental", "trace mspa1"),
    }


def test_a_fit_does_not_depend_on_how_the_last_one_was_rounded(monkeypatch):
    """The tables hold four digits; a chip's share of the default chip's bandwidth is read from two of them."""
    shares = operators._chip("910B4")[1]
    assert shares and shares == operators._chip.__wrapped__("910B4")[1]
    tables = chips.flat()
    monkeypatch.setattr(operators.chips, "flat", lambda c=chips.DEFAULT, plain=chips.flat: (
        plain(c) if c == "910B4" else tables | {"operators.hbm": tables["operators.hbm"] * 1.0003}))  # fmt: skip
    assert operators._chip.__wrapped__("910B4")[1] == shares


def test_without_a_fit_no_table_of_constants_is_written(monkeypatch, capsys):
    monkeypatch.setattr(operators, "write_constants", lambda *_: pytest.fail("written"))
    monkeypatch.setattr(operators, "write", lambda *_: pytest.fail("written"))
    operators.judge(anew=False, crossed=False, written=True)
    assert "sum over the trace's launches" in capsys.readouterr().out


def test_the_table_is_of_this_model(rows, said):
    us = operators.modelled(rows)
    lines = operators.table(rows, us, None)
    assert [(line["class"], line["source"]) for line in lines] == list(said)
    for line in lines:
        kept = said[line["class"], line["source"]]
        assert line["rows"] == int(kept["rows"])
        if line["rows"]:
            stated = float(kept["error_percent"])
            assert float(line["error_percent"]) == pytest.approx(stated, abs=0.5), f"labkit clock operators: {line}"
    trace = [r for r in rows if r.source.startswith("trace")]
    assert len(trace) > 100 and abs(operators.total(trace, us)) <= 0.12


def test_a_transpose_costs_its_narrow_side():
    """Four columns of 8-byte numbers are moved 32 bytes at a time; one of the same size with long sides is not."""
    narrow = operators.row("aten::copy_", "int64[16384x4]", "int64[4x16384]", "perm=1,0").modelled()
    square = operators.row("aten::copy_", "int64[256x256]", "int64[256x256]", "perm=1,0").modelled()
    merged = operators.row("aten::copy_", "int64[64x16x16x4]", "int64[16x16x4x64]", "perm=1,2,3,0").modelled()
    assert narrow > 1.6 * square and merged < 1.2 * square


def test_no_case_is_a_table_of_its_own(rows):
    """Few constants, each with a meaning: at most four a class."""
    numbers = [n for n in chips.flat() if n.startswith("operators.")]
    assert sorted(numbers) == sorted(operators.CONSTANTS)
    assert len(numbers) == 12 + 4 * len(operators.CLASSES) < len(rows) / 3
    assert set(operators.CLASSES) >= {r.kind for r in rows} and len({r.operator for r in rows}) >= 40


def test_times_come_from_the_devices_function(rows, monkeypatch):
    """Not from a second copy in Python: without the library there is none."""
    monkeypatch.setattr(library, "_loaded", None)
    with pytest.raises(RuntimeError, match="not installed"):
        rows[0].modelled()


def test_a_constant_that_is_wrong_shows(rows):
    now = {n: chips.flat()[n] for n in operators.CONSTANTS}
    softmax = [r for r in rows if r.kind == "softmax"]
    right = operators.modelled(softmax, now)
    wrong = operators.modelled(softmax, now | {"operators.softmax.repeat": 4 * now["operators.softmax.repeat"]})
    assert operators.table(softmax, wrong, None)[-1]["error_percent"] != ""
    assert operators._middle(softmax, wrong) > 2 * operators._middle(softmax, right)
    assert operators.modelled(softmax) == pytest.approx(right, rel=1e-6), "and the device has its own constants again"


def test_the_fit_finds_constants_again(rows):
    """From times that the model itself gives: what came out is what they were made with."""
    now = {n: chips.flat()[n] for n in operators.CONSTANTS}
    mine = [r for r in rows if r.kind in ("cast", "softplus")]
    truth = now | {"operators.softplus.repeat": 40.0}
    us = operators.modelled(mine, truth)
    made = [operators.row("aten::mish", "half[4096x4096]", "half[4096x4096]", id="one", us=0.0)]
    made[0].us = operators.modelled(made, truth)["one"]
    operators.modelled(made)
    found = operators.fit(made, steps=10, begin=now)
    assert found["operators.softplus.repeat"] == pytest.approx(40, rel=0.1) and us


def test_one_class_is_fitted_alone(rows):
    """All other constants stay as the table has them to the last digit; nobody else's rows have a say."""
    now = {n: chips.flat()[n] for n in operators.CONSTANTS}
    softplus = [r for r in rows if r.kind == "softplus"]
    alone = operators.fit(softplus, steps=5, only=("softplus",))
    moved = {n for n in now if alone[n] != now[n]}
    assert moved and {n.split(".")[1] for n in moved} == {"softplus"}
    casts = [r for r in rows if r.kind == "cast"]
    assert operators.fit(casts + softplus, steps=5, only=("softplus",)) == alone


def test_attention_is_shared_out_over_the_vector_cores():
    """128 queries of a head are a task of one of 48 vector cores, not of one of 24 cubes: a published kernel takes
    25 us for 32 such tasks, 41 for 64, 40 for 96, 50 for 128.
    """

    def us(heads: int, keys: int = 128) -> float:
        q, k = f"half[1x{heads}x128x128]", f"half[1x{heads}x{keys}x128]"
        return operators.row("aten::scaled_dot_product_attention", f"{q};{k};{k}", q).modelled()

    assert us(48) < 1.1 * us(24), "one round"
    assert us(49) > us(48) + 0.8 * (us(97) - us(96)) > 1.1 * us(48), "a second one, a third one"
    assert us(96) < 1.1 * us(49)


def test_attention_fills_and_empties_its_stages():
    """The first of its tiles of 512 keys takes three steps, each further one a single step."""

    def us(length: int) -> float:
        x = f"half[1x1x{length}x128]"
        return operators.row("aten::scaled_dot_product_attention", f"{x};{x};{x}", x).modelled()

    step = us(1024) - us(512)
    assert us(512) > 2.5 * step and us(4096) - us(2048) == pytest.approx(4 * step, rel=0.1)
    for length, published in ((1024, 58.5), (2048, 70.8), (4096, 118.3)):
        assert us(length) == pytest.approx(published, rel=0.15)


def test_more_queries_than_keys_under_a_causal_mask_cost_no_less_than_nothing():
    """The keys that a query sees on average came out below zero, and with them the time."""
    q, k = "half[1x8x4096x128]", "half[1x8x128x128]"
    full, causal = (
        operators.row("aten::scaled_dot_product_attention", f"{q};{k};{k}", q, how).modelled() for how in ("", "causal")
    )
    assert 0.5 * full < causal <= full


def test_what_an_operator_does_decides_its_class():
    def kind(*row, **how) -> str:
        r = operators.row(*row, **how)
        r.modelled()
        return r.kind

    x, wide = "half[64x512]", "half[64x1024]"
    assert kind("aten::add_", f"{x};{x}", x) == "elementwise" and kind("aten::anything_new", x, x) == "elementwise"
    assert kind("aten::anything_new", x, "half[64]") == "reduce", "by its shapes"
    assert kind("aten::_softmax_backward_data", f"{x};{x}", x, "dim=-1") == "softmax"
    assert kind("aten::native_layer_norm_backward", f"{x};{x}", x, "dim=-1") == "norm_backward"
    assert kind("aten::_scaled_dot_product_fused_attention_overrideable", f"{x};{x};{x}", x) == "attention"
    assert kind("aten::copy_", "half[512x64]", x, "stride=1,64") == "transpose"
    assert kind("aten::copy_", x, x, "stride=1024,1") == kind("aten::cat", f"{x};{x}", wide) == "copy"
    assert kind("aten::_foreach_addcdiv_", f"{x};{x};{x}", x) == "foreach"
    assert kind("aten::_fused_adamw_", ";".join(4 * [x]), ";".join(3 * [x]), "in place") == "optimizer"
    assert kind("aten::embedding", "half[32000x512];int64[64]", x) == "gather_rows"
    assert kind("npu::npu_swiglu", wide, x) == "activation"


@pytest.mark.parametrize("name", ["aten::linear", "aten::matmul", "aten::softmax", "aten::conv2d", "aten::layer_norm"])
def test_what_pytorch_takes_apart_has_no_price(name):
    """It was priced as elementwise work on the largest tensor: 962 us for a linear layer of 32 x 768 x 768."""
    with pytest.raises(ValueError, match="makes it of other operators"):
        operators.row(name, "half[32x768];half[768x768]", "half[32x768]")


def test_a_piece_that_is_appended_costs_a_piece():
    """A cache of keys that grows by one token: the old ones are copied in long runs."""
    old, new = "half[1x32x2048x128]", "half[1x32x1x128]"
    cat = operators.row("aten::cat", f"{old};{new}", "half[1x32x2049x128]").modelled()
    copy = operators.row("aten::copy_", old, old).modelled()
    assert cat < 1.2 * copy
