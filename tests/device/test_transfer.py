"""torch_npu.contrib.transfer_to_npu: a program for CUDA, unchanged but for two imports.
In a process of its own: it changes torch.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

from device_lab import simulated

pytestmark = simulated

HEAD = "import labkit, torch, torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"


def run(program: str, head: str = HEAD) -> str:
    """What the program printed. Its first line of error otherwise."""
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_training_script_for_cuda():
    said = run("""
        import io
        assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
        torch.cuda.set_device(0)
        torch.cuda.manual_seed_all(1)
        device = torch.device("cuda:0")
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
        net = net.to(device).to("cuda").to(0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.cuda.amp.GradScaler()
        x, y = torch.randn(64, 8, device="cuda"), torch.randn(64, 1).cuda(non_blocking=True)
        assert x.is_cuda and x.device.type == "npu" and torch.zeros_like(x, device=device).is_cuda and not torch.ones(2).is_cuda
        losses = []
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(5):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        end.record()
        torch.cuda.synchronize()
        assert losses[-1] < losses[0] and begin.elapsed_time(end) > 0
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        again = torch.load(file, map_location="cuda:0")
        assert [n for n, t in again.items() if not t.is_cuda] == [], "not on the device"
        generator = torch.Generator(device="cuda")
        assert isinstance(generator, torch.Generator) and generator.device.type == "npu"
        assert x.new_zeros(3, device=torch.device("cuda")).is_cuda and torch.cuda.max_memory_allocated() > 0
        torch.set_default_device("cuda")
        assert torch.zeros(1).is_cuda
        print("done")
    """)
    assert said.split() == ["done"]


def test_nccl_is_hccl():
    assert run("""
        import os, torch.distributed as dist
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
        store = dist.HashStore()
        dist.init_process_group("nccl", store=store, rank=0, world_size=1)
        t = torch.ones(3).cuda()
        dist.all_reduce(t)
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0])
        net(torch.ones(1, 2, device="cuda")).sum().backward()
        print(dist.get_backend(), t.tolist(), dist.is_nccl_available())
        dist.destroy_process_group()
    """).split() == ["hccl", "[1.0,", "1.0,", "1.0]", "True"]


def test_without_it_cuda_is_as_ever():
    assert (
        run(
            """
        import labkit, torch
        try:
            torch.zeros(1, device="cuda")
        except (AssertionError, RuntimeError) as error:
            print(type(error).__name__, torch.cuda.is_available())
    """,
            head="",
        ).split()[-1]
        == "False"
    )
