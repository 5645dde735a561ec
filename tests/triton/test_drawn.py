"""Kernels by chance against PyTorch in float32; 400 of them by LABKIT_DRAWN=all, whose table is data/triton_drawn.csv."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
pytest.importorskip("torch")

import triton_drawn
from drawn import examples
from hypothesis import HealthCheck, given, settings

import labkit.triton

labkit.triton.install()


@settings(
    max_examples=examples(80) if examples(80) < 80 else 400, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(kernel=triton_drawn.kernels())
def test_a_drawn_kernel_is_right(kernel, tmp_path_factory):
    got, want = kernel.run(tmp_path_factory.getbasetemp())
    found = labkit.triton.last().findings
    assert not found, "\n".join(map(str, found)) + "\n" + kernel.source()
    assert triton_drawn.wrong(got, want) <= 1, kernel.source()


@settings(max_examples=6 if examples(80) < 80 else 100, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernel=triton_drawn.whole_kernels())
def test_a_drawn_kernel_of_integers_is_right(kernel, tmp_path_factory):
    got, want = kernel.run(tmp_path_factory.getbasetemp())
    found = labkit.triton.last().findings
    assert not found, "\n".join(map(str, found)) + "\n" + kernel.source()
    assert triton_drawn.wrong(got, want) <= 1, kernel.source()
