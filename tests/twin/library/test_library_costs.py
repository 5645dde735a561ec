"""What the functions of whole tensors and the Matmul object cost, compared with tests/faults/pins.json:
time, counters, each pipe's share.

The launches are examples of the tests that judge their results: the same functions, with arguments that stay.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import pins  # noqa: E402
import test_library_math as adv_math  # noqa: E402
import test_norm as adv_norm  # noqa: E402
import test_reduce as adv_reduce  # noqa: E402
import test_softmax as adv_softmax  # noqa: E402
from matmul_case import Case  # noqa: E402
from test_matmul import BLOCKS, FORMS, UB, WHOLE, WORKSPACE  # noqa: E402
from twin_adv import TORCH  # noqa: E402


def pinned(name: str, test, *arguments) -> None:
    """Runs a property test's own function with these arguments, and compares its last launch."""
    with pins.watch() as records:
        test.hypothesis.inner_test(*arguments)
    pins.check(f"library/{name}", records[-1])


@pytest.mark.parametrize("t", ["F16", "F32"])
def test_elementwise(t):
    dtype = TORCH[t]
    for table, second in ((adv_math.ONE, False), (adv_math.TWO, True)):
        for name, (which, _, *make) in table.items():
            x = adv_math.draw(make[0], 1, 700, dtype)
            y = adv_math.draw(make[-1], 2, 700, dtype) if second else x
            with pins.watch() as records:
                adv_math.call(which, dtype, x, y, 1.5 if second else 0.0, 0, adv_math.scratch(name, 700, dtype, 0.5))
            pins.check(f"library/{name} {t}", records[-1])


def test_reductions():
    for name, (_, types) in adv_reduce.REDUCE.items():
        for which, t in enumerate(types):
            for columns in (False, True):
                pinned(
                    f"{name} {t} {'columns' if columns else 'rows'}",
                    adv_reduce.test_patterns,
                    name,
                    which,
                    7,
                    100,
                    1,
                    columns,
                    False,
                    False,
                )
    for name in ("Sum", "Mean", "wide"):
        for t in ("F16", "F32"):
            pinned(f"rows {name} {t}", adv_reduce.test_rows, name, t, 5, 300, 1, False)
    pinned("xor sum", adv_reduce.test_xor_sum, 500, 1, False, False)


def test_quantization():
    for which in (20, 21, 22, 23, 24):
        for t in ("F16", "F32"):
            pinned(f"quant {which} {t}", adv_reduce.test_quant, which, t, 3, 4, 1, 0.5)
    for which in (30, 31, 32, 33, 34):
        pinned(f"dequant {which}", adv_reduce.test_dequant, which, which % 5, 4, 6, 40, 1, 0.5)
    for which in (40, 41, 42, 43):
        pinned(f"antiquant {which}", adv_reduce.test_antiquant, which, which % 4, False, 2, 2, 2, 1, 0.5)


@pytest.mark.parametrize("types", ["half", "float"])
def test_normalization(types):
    def tile():
        return adv_norm.Tile(types, 1, 0.5)

    for name in ("LayerNorm", "DeepNorm", "RmsNorm"):
        pinned(f"{name} {types}", adv_norm.test_rows, tile(), (2, 3, 100, 1), False, name)
    pinned(f"LayerNorm with rstd {types}", adv_norm.test_rows_with_rstd, tile(), 6, 100, False, False)
    pinned(f"Normalize {types}", adv_norm.test_normalize, tile(), 6, 100, False, False)
    pinned(f"BatchNorm {types}", adv_norm.test_batch_norm, tile(), 5, 2, 3, False)
    pinned(f"GroupNorm {types}", adv_norm.test_group_norm, tile(), 2, 2, 2, 4, 4, False)
    pinned(f"gradients of LayerNorm {types}", adv_norm.test_gradients_of_layer_norm, tile(), (2, 3, 60, 1), False)
    pinned(f"WelfordUpdate {types}", adv_norm.test_welford_update, tile(), 6, 80, False, False, 3)
    pinned(f"WelfordFinalize {types}", adv_norm.test_welford_finalize, tile(), 6, 40, 3, "tail")


@pytest.mark.parametrize("types", ["half", "float", "mixed"])
def test_softmax(types):
    def tile(nz=False):
        return adv_softmax.Tile(None, types, 5, 1, 100, 1, nz)

    for nz in (False, True):
        pinned(f"SoftMax {types} {'nz' if nz else 'nd'}", adv_softmax.test_softmax, tile(nz), False, True)
        pinned(f"SimpleSoftMax {types} {'nz' if nz else 'nd'}", adv_softmax.test_simple_softmax, tile(nz), False)
        for update in (False, True):
            pinned(
                f"SoftmaxFlashV2 {types} {'nz' if nz else 'nd'} {update}",
                adv_softmax.test_flash_v2,
                tile(nz),
                update,
                False,
            )
    for update in (False, True):
        pinned(f"SoftmaxFlash {types} {update}", adv_softmax.test_flash, tile(), update, False)
    if types != "mixed":
        pinned(f"LogSoftMax {types}", adv_softmax.test_log_softmax_is_to_base_ten, tile())
        for which in (12, 13, 14):
            pinned(f"gradient {which} {types}", adv_softmax.test_gradient, tile(), which, False)
    else:
        pinned("SoftmaxFlashV3", adv_softmax.test_flash_v3, 2, 512, 1, True, 2)


@pytest.mark.parametrize("entry", FORMS)
def test_products(entry):
    for way in (WHOLE, BLOCKS, WORKSPACE, UB) if entry in ("half_float", "half_half", "float_float") else (WHOLE,):
        case = Case(
            entry=entry,
            m=70,
            n=96,
            k=100,
            base=(32, 32, 64),
            single=(48, 96, 100),
            bias=way == WHOLE,
            way=way,
            **FORMS[entry],
        )
        _, _, record = case.run()
        assert record.finished and not record.findings, record.report()
        pins.check(f"matmul/{entry} way {way}", record)
