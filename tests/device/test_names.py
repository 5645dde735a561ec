"""torch.npu's names: each is simulated, or says what to use; and the published list of them is the current one."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

import torch_npu_names as coverage  # noqa: E402
from device_lab import simulated  # noqa: E402

from labkit.device import names  # noqa: E402

pytestmark = simulated


def test_the_list_is_the_generated_one(repo):
    assert (repo / "data" / "torch_npu_names.csv").read_text(encoding="utf-8") == coverage.csv_text(), (
        "python scripts/torch_npu_names.py"
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_missing_says_what_to_use(lang, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", lang)
    missing = [name for name, has, _ in coverage.table() if has == "no"]
    assert 50 < len(missing) < 80
    for name in missing:
        use = names.instead(name)
        assert use, name
        with pytest.raises(AttributeError) as refused:
            getattr(torch.npu, name)
        assert name in str(refused.value) and use in str(refused.value)


def test_what_is_listed_is_there_and_documented():
    for name, has, use in coverage.table():
        if has == "yes":
            assert getattr(torch.npu, name) is not None and not use
    assert set(torch.npu.__all__) <= {name for name, has, _ in coverage.table() if has == "yes"}


# The names that six public repositories use most, with the number of places (reference of this project).
USED = """set_device current_device is_available synchronize current_stream device_count empty_cache Stream stream
    set_compile_mode Event FloatTensor set_option reset_peak_memory_stats manual_seed_all manual_seed max_memory_allocated
    get_device_name config amp mem_get_info conv device matmul memory_allocated get_device_properties memory_reserved
    memory_stats utils default_stream set_rng_state get_rng_state""".split()


@pytest.mark.parametrize("name", USED)
def test_what_programs_use_is_simulated(name):
    assert getattr(torch.npu, name) is not None
