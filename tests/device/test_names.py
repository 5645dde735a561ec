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
    assert 25 < len(missing) < 40
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


def test_storages_by_their_types():
    made = torch.npu.BoolStorage([True, False])
    assert made.tolist() == [True, False] and made.device.type == "npu" and torch.npu.FloatStorage().size() == 0
    x = torch.ones(2, device="npu")
    assert isinstance(x.storage(), torch.npu.FloatStorage) and not isinstance(x.storage(), torch.npu.HalfStorage)
    assert not isinstance(x.cpu().storage(), torch.npu.FloatStorage)
    with pytest.raises(IndexError):
        made[2]


def test_switches_of_the_backends():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with pytest.warns(UserWarning, match="only the switch"), torch.npu.sdp_kernel(enable_flash=False):
        assert not torch.npu.backends.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()
    with sdpa_kernel(SDPBackend.MATH), pytest.warns(UserWarning):
        assert torch.npu.math_sdp_enabled() and not torch.npu.mem_efficient_sdp_enabled()
        torch.npu.enable_mem_efficient_sdp(True)
        assert torch.backends.cuda.mem_efficient_sdp_enabled()
    with torch.npu.aclnn.flags(allow_hf32=False):
        assert not torch.npu.conv.allow_hf32
    assert torch.npu.aclnn.allow_hf32 and torch.npu.conv.allow_hf32
    with pytest.warns(UserWarning):
        assert torch.npu.preferred_linalg_library("magma") == torch._C._LinalgBackend.Default
    plans = torch.npu.backends.fft_plan_cache
    assert plans.size == plans.max_size == 0
    with pytest.raises(RuntimeError, match="no plans"):
        plans.max_size = 10
    with pytest.raises(AttributeError):
        plans.size = 1
    assert not torch.npu.utils._is_gte_cann_version("8.3.RC1")
    with pytest.raises(RuntimeError):
        torch.npu.utils._is_gte_cann_version("7.0.0")


def test_what_is_inside_torch_npu(monkeypatch):
    import torch_npu._C as inside

    made = inside._empty_strided_npu((2, 3), (1, 2), torch.int8)
    assert made.stride() == (1, 2) and made.dtype == torch.int8 and made.device.type == "npu"
    with pytest.raises(AttributeError, match="_C._no_such_name"):
        inside._no_such_name
    told = []
    monkeypatch.setattr(inside._mstx, "_mark", lambda *args: told.append(args))
    stream = torch.npu.current_stream()
    torch.npu.mstx.mark("here", stream=stream, domain="mine")
    assert told == [("here", stream.stream_id, stream.device_index, stream.device_type, "mine")]
    for wrong in ({"message": 0}, {"message": "a", "domain": 1}, {"message": "a", "stream": 1}):
        with pytest.warns(UserWarning, match="Invalid"):
            torch.npu.mstx.mark(**wrong)
    assert len(told) == 1
    push, pop = torch.npu.mstx.range_push, torch.npu.mstx.range_pop
    assert [push("a"), push("b"), push("c", domain="other"), pop("other"), pop(), pop(), pop()] == [
        0,
        1,
        0,
        0,
        1,
        0,
        -1,
    ]

    @torch.npu.mstx.annotate()
    def named():
        return 1

    with torch.profiler.profile() as profile:
        assert named() == 1
    assert any(event.name == "named" for event in profile.events())
