"""Modules of torch_npu that programs import by name, and the memory's statistics by pool."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from places import REPO

import labkit.device

labkit.device.install()

import torch  # noqa: E402
import torch_npu  # noqa: E402


def expected_of_snapshot() -> dict[str, int]:
    """The statistics' "current" of each group and pool, counted from the allocator's blocks."""
    from collections import Counter

    found: Counter[str] = Counter()
    for segment in torch.npu.memory_snapshot():
        if segment["device"] != 0:
            continue
        for pool in ("all", f"{segment['segment_type']}_pool"):
            found[f"segment.{pool}"] += 1
            found[f"reserved_bytes.{pool}"] += segment["total_size"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    found[f"allocation.{pool}"] += 1
                    found[f"allocated_bytes.{pool}"] += block["size"]
                    found[f"requested_bytes.{pool}"] += block["requested_size"]
                if block["state"].startswith("active"):
                    found[f"active.{pool}"] += 1
                    found[f"active_bytes.{pool}"] += block["size"]
                elif len(segment["blocks"]) > 1:
                    found[f"inactive_split.{pool}"] += 1
                    found[f"inactive_split_bytes.{pool}"] += block["size"]
    return {f"{name}.current": n for name, n in found.items()}


def test_statistics_by_pool_are_those_of_the_blocks():
    kept = []
    for i in range(60):
        kept.append(torch.empty(1000 * (i * 37 % 17 + 1) ** 2, device="npu"))
        if i % 3 == 2:
            del kept[i * 7 % len(kept)]
        if i == 40:
            torch.npu.empty_cache()
        stats = torch.npu.memory_stats()
        assert {k: v for k, v in expected_of_snapshot().items() if stats[k] != v} == {}
        for group in ("allocation", "inactive_split_bytes", "segment"):
            for pool in ("all", "small_pool", "large_pool"):
                name = f"{group}.{pool}"
                assert stats[f"{name}.peak"] >= stats[f"{name}.current"] >= 0
    assert any(v for k, v in stats.items() if k.startswith("inactive_split.large")), "no split was ever there"
    assert stats["allocated_bytes.all.current"] == torch.npu.memory_allocated()
    before = stats["allocation.all.current"]
    torch.npu.reset_accumulated_memory_stats()
    more = torch.empty(10, device="npu")
    stats = torch.npu.memory_stats()
    assert (stats["allocation.all.allocated"], stats["allocation.all.freed"]) == (1, 0)
    assert stats["allocation.all.current"] == before + 1
    torch.npu.reset_peak_memory_stats()
    stats = torch.npu.memory_stats()
    assert stats["active_bytes.small_pool.peak"] == stats["active_bytes.small_pool.current"] > 0
    assert len(more) == 10


@pytest.mark.skipif(not hasattr(torch.accelerator, "memory_stats"), reason="torch before 2.9")
def test_the_accelerator_says_the_same():
    x = torch.randn(2_000_000, device="npu")
    of_torch, ours = torch.accelerator.memory_stats(), torch.npu.memory_stats()
    assert {k: (v, ours.get(k)) for k, v in of_torch.items() if ours.get(k) != v} == {} and len(x)


def test_the_summary_is_a_table():
    x = torch.randn(2_000_000, device="npu")
    lines = torch.npu.memory_summary().splitlines()
    assert {len(line) for line in lines} == {77}
    row = next(line for line in lines if "Allocated memory" in line)
    assert row.count("|") == 6 and ("KiB" in row or "MiB" in row)
    assert sum("from large pool" in line for line in lines) == 9 and len(x)
    assert not any("pool" in line for line in torch.npu.memory_summary(abbreviated=True).splitlines())


def test_a_report_of_the_machine():
    from torch_npu.utils import collect_env

    said = collect_env.get_pretty_env_info()
    assert f"PyTorch version: {torch.__version__}" in said and "not known" in said


def test_a_thread_runs_on_the_cores_that_it_is_given():
    from torch_npu.utils import affinity, set_thread_affinity

    have = os.sched_getaffinity(0)
    found = {}

    def bound():
        set_thread_affinity([min(have), min(have)])
        found["one"] = os.sched_getaffinity(0)
        affinity._reset_thread_affinity()
        found["all"] = os.sched_getaffinity(0)
        with pytest.warns(UserWarning, match="cores"):
            set_thread_affinity([10_000, 10_001])
        found["none"] = os.sched_getaffinity(0)

    thread = threading.Thread(target=bound)
    thread.start()
    thread.join()
    assert found == {"one": {min(have)}, "all": have, "none": have} and os.sched_getaffinity(0) == have
    for wrong in ([], [1], [3, 1], [-1, 2]):
        with pytest.raises(ValueError, match="Invalid core range.*\n.*ERR0000[13]"):
            set_thread_affinity(wrong)


def test_an_event_says_when_it_was_reached():
    first, second = torch.npu.Event(), torch.npu.Event()
    with pytest.raises(RuntimeError):
        first.recorded_time()
    first.record()
    torch.randn(1000, 1000, device="npu") @ torch.randn(1000, 1000, device="npu")
    second.record()
    assert 0 < first.recorded_time() < second.recorded_time()


@pytest.mark.parametrize("name", ["NpuPreGenDropout", "NpuDropPath"])
def test_masks_are_drawn_on_a_stream_of_their_own(name):
    from torch_npu.contrib import module
    from torch_npu.contrib.module.ensemble_dropout import NpuPreGenDropout

    kind = NpuPreGenDropout if name == "NpuPreGenDropout" else module.NpuDropPath
    layer = kind(0.25).npu()
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), layer).npu()
    if name == "NpuPreGenDropout":
        with pytest.raises(RuntimeError, match="ERR01003"):
            NpuPreGenDropout(0.125)(torch.ones(3, device="npu"))
        kind.enable_dropout_ensemble(model)
    else:
        kind.enable_droppath_ensemble(model)
    before = labkit.device.clock().launches
    kept = layer(torch.ones(4000, 2, device="npu"))
    spans = labkit.device.timeline_since(before)
    stream = getattr(kind, "dropout_stream", None) or kind.droppath_stream
    assert [s.name for s in spans if s.stream == stream.stream_id] == ["aten::bernoulli_"]
    assert kept.unique().tolist() == pytest.approx([0, 4 / 3]) and 0.7 < (kept > 0).float().mean() < 0.8
    assert torch.equal(layer.eval()(kept), kept)


def test_attention_of_several_heads_is_that_of_torch():
    from torch_npu.contrib.module import MultiheadAttention

    torch.manual_seed(0)
    ours = MultiheadAttention(32, 4).npu()
    theirs = torch.nn.MultiheadAttention(32, 4, batch_first=True).npu()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([getattr(ours, f"{n}_proj").weight for n in "qkv"]))
        theirs.in_proj_bias.copy_(torch.cat([getattr(ours, f"{n}_proj").bias for n in "qkv"]))
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    x = torch.randn(3, 5, 32, device="npu")
    mask = torch.randn(3, 1, 5, 5, device="npu").expand(3, 4, 5, 5)
    flat = x.reshape(15, 32)
    got, _ = ours(flat, flat, flat, 3, 5, 5, mask)
    torch.testing.assert_close(got.view(3, 5, 32), theirs(x, x, x, attn_mask=mask.reshape(12, 5, 5))[0])
    with pytest.raises(ValueError, match="divisible"):
        MultiheadAttention(10, 3)


def test_quantisation_noise_drops_blocks():
    from torch_npu.contrib.module.multihead_attention import _quant_noise

    layer = _quant_noise(torch.nn.Linear(8, 64, bias=False), 0.5, 4)
    torch.nn.init.ones_(layer.weight)
    layer.eval()(torch.ones(1, 8))
    assert (layer.weight == 1).all()
    layer.train()(torch.ones(1, 8))
    blocks = layer.weight.view(64, 2, 4)
    assert set(layer.weight.unique().tolist()) == {0.0, 2.0} and (blocks == blocks[..., :1]).all()


def test_a_layer_of_quantised_weights():
    from torch_npu.contrib.module import LinearWeightQuant

    layer = LinearWeightQuant(16, 8, bias=False, antiquant_offset=True, device="npu")
    weight = torch.randint(-8, 8, (8, 16), dtype=torch.int8, device="npu")
    layer.weight.data, x = weight, torch.randn(3, 16, dtype=torch.half, device="npu")
    layer.antiquant_scale.data = torch.rand(8, dtype=torch.half, device="npu")
    layer.antiquant_offset.data = torch.ones(8, dtype=torch.half, device="npu")
    wanted = x.float() @ ((weight.float() + 1) * layer.antiquant_scale.float()[:, None]).T
    torch.testing.assert_close(layer(x).float(), wanted, rtol=1e-2, atol=1e-2)


def test_channels_are_shuffled_in_the_number_that_is_said():
    from torch_npu.contrib.module.channel_shuffle import ChannelShuffle

    x = torch.arange(4.0, device="npu").view(1, 4, 1)
    assert ChannelShuffle(8, split_shuffle=False)(x, x + 4).flatten().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert [half.flatten().tolist() for half in ChannelShuffle(8)(x, x + 4)] == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert ChannelShuffle(4, split_shuffle=False)(x, x).flatten().tolist() == [0, 2, 1, 3], "of eight the first four"


def test_a_transposed_product_has_its_gradients():
    from torch_npu.contrib.function._matmul_transpose import MatmulApply

    a, b = (torch.randn(2, 3, 4, dtype=torch.double, device="npu", requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(MatmulApply.apply, (a, b))


def test_a_device_that_is_not_there_has_no_peer():
    for pair, what in (((-1, 0), "Invalid device id"), ((0, 99), "Invalid peer device id")):
        with pytest.raises(AssertionError, match=what):
            torch_npu.npu.can_device_access_peer(*pair)
    assert not torch_npu.npu.can_device_access_peer(0, 0)


def test_a_limit_in_time_is_a_number_without_a_sign():
    torch.npu.set_op_timeout_ms(1000)
    for wrong in (-1, 1 << 32):
        with pytest.raises(RuntimeError):
            torch.npu.set_op_timeout_ms(wrong)
    with pytest.raises(RuntimeError, match="0,1,2"):
        torch.npu.set_sync_debug_mode(-1)


def test_what_a_profile_says_of_cuda_is_of_the_npu():
    program = (
        "import labkit, torch, torch_npu\n"
        "from torch_npu.contrib import transfer_to_npu\n"
        "k = torch.autograd.profiler_util.Kernel('for_cuda', 'cuda', 11)\n"
        "assert (k.name, k.device, k.duration) == ('for_cuda', 'npu', 11), k\n"
        "assert torch.cuda.amp.autocast_mode is torch_npu.npu.amp.autocast_mode\n"
        "from torch_npu.npu.amp.grad_scaler import GradScaler\n"
    )
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
