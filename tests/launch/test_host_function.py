"""Host functions of a kernel's file: called with numbers and structs, next to the kernel they belong to."""

from __future__ import annotations

import ctypes

import pytest

pytest.importorskip("torch")

import labkit  # noqa: E402
from labkit.launch.host_function import host_function  # noqa: E402

TEXT = """
#include "kernel_operator.h"
using namespace AscendC;

struct Cut { int32_t tiles, rest; };

extern "C" int64_t cut(int32_t n, int32_t tile, Cut* result) {
    if (tile < 1) return -1;
    *result = {n / tile, n % tile};
    return 0;
}

extern "C" __global__ __aicore__ void nothing(GM_ADDR x) {}
"""


@pytest.fixture(scope="module")
def kernel():
    return labkit.kernel(text=TEXT, filename="cut.asc")


def test_it_fills_what_it_is_given(kernel):
    cut, words = host_function(kernel, "cut"), (ctypes.c_int32 * 2)()
    assert cut(1000, 256, words) == 0 and list(words) == [3, 232]
    assert cut(1000, 0, words) == -1


def test_a_name_that_is_not_there(kernel):
    with pytest.raises(AttributeError, match="cuts"):
        host_function(kernel, "cuts")


def test_the_hosts_tiling_of_the_finished_kernels():
    for file, entry, sizes in (
        ("matmul/matmul.asc", "product_mdl", (300, 256, 64, 4, -1, -1, -1)),
        ("matmul_leaky/leaky_object.asc", "leaky_object", (300, 256, 64)),
    ):
        words = (ctypes.c_int32 * 50)()
        assert host_function(labkit.kernel(f"kernels/{file}", entry=entry), "make_tiling")(*sizes, words) == 0
        assert list(words)[1:5] == [300, 256, 64, 64] and words[0] >= 1
