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
        mesh = dist.device_mesh.init_device_mesh("cuda", (1,))
        assert mesh.device_type == "npu" and dist.device_mesh.DeviceMesh("cuda", [0]).device_type == "npu"
        dist.all_reduce(torch.ones(1).cuda(), group=dist.new_group([0], backend="nccl"))
        t = torch.ones(3).cuda()
        dist.all_reduce(t)
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0])
        net(torch.ones(1, 2, device="cuda")).sum().backward()
        print(dist.get_backend(), t.tolist(), dist.is_nccl_available())
        dist.destroy_process_group()
    """).split() == ["hccl", "[1.0,", "1.0,", "1.0]", "True"]


CALLS = """
x.cuda("cuda:0").is_cuda
x.cuda(0).is_cuda
x.cuda(device="cuda").is_cuda
x.cuda(device=torch.device("cuda", 0), non_blocking=True).is_cuda
m.cuda(torch.device("cuda")).weight.is_cuda
m.cuda("cuda:0").weight.is_cuda
m.cuda(0).weight.is_cuda
m.to("cuda:0").weight.is_cuda
m.to(torch.device("cuda:0"), torch.float16).weight.is_cuda
m.to_empty(device="cuda").weight.is_cuda
torch.cuda.Stream("cuda:0").device.type == "npu"
torch.cuda.Stream(torch.device("cuda:0")).device.type == "npu"
torch.cuda.current_stream("cuda:0").device.type == "npu"
torch.cuda.default_stream("cuda").device.type == "npu"
torch.cuda.memory_allocated("cuda:0") >= 0
torch.cuda.memory_reserved(torch.device("cuda")) >= 0
torch.cuda.max_memory_allocated("cuda:0") >= 0
torch.cuda.mem_get_info("cuda:0")[1] > 0
"memory summary, device ID 0" in torch.cuda.memory_summary("cuda:0")
torch.cuda.memory_stats("cuda")["num_ooms"] == 0
torch.cuda.memory.memory_allocated("cuda") >= 0
torch.cuda.reset_peak_memory_stats("cuda:0") is None
torch.cuda.synchronize("cuda:0") is None
torch.cuda.set_device("cuda:0") is None
torch.cuda.get_device_name("cuda:0").startswith("Ascend")
torch.cuda.get_device_properties("cuda:0").multi_processor_count > 0
torch.cuda.can_device_access_peer("cuda:0", "cuda:0") is False
torch.cuda.set_per_process_memory_fraction(1.0, "cuda:0") is None
torch.cuda.get_rng_state("cuda:0").numel() == 16
torch.cuda.set_rng_state(torch.cuda.get_rng_state("cuda"), "cuda") is None
torch.cuda.random.get_rng_state("cuda").numel() == 16
torch.cuda.manual_seed(3) is None
torch.Event(device="cuda").device.type == "npu"
torch.Event("cuda", enable_timing=True).device.type == "npu"
torch.Stream(device="cuda").device.type == "npu"
torch.Generator(device="cuda").device.type == "npu"
isinstance(torch.Generator("cuda"), torch.Generator)
issubclass(torch.cuda.Stream, torch.Stream)
torch.rand(2, device="cuda", generator=torch.Generator("cuda")).is_cuda
torch.fft.fftfreq(4, device="cuda").is_cuda
torch.fft.rfftfreq(4, device=torch.device("cuda")).is_cuda
x.type(torch.cuda.FloatTensor).is_cuda
x.type("torch.cuda.HalfTensor").dtype == torch.float16
isinstance(x.cuda(), torch.cuda.FloatTensor)
x.cuda().type() in ("torch.npu.FloatTensor",)
torch.cuda.FloatTensor(2, 3).is_cuda
torch.cuda.CUDAGraph is torch.npu.NPUGraph
torch.cuda.nvtx.range_push("a") == 0
torch.cuda.nvtx.range_pop() == 0
torch.cuda.nvtx.mark("a") is None
torch.zeros(2, device="cuda").is_cuda
torch.zeros(2, device=0).is_cuda
torch.zeros_like(x, device="cuda").is_cuda
torch.tensor([1], device="cuda").is_cuda
torch.asarray([1], device="cuda").is_cuda
torch.empty_permuted((2,3),(1,0), device="cuda").is_cuda
x.new_zeros(3, device="cuda").is_cuda
x.to("cuda", non_blocking=True).is_cuda
x.to(device="cuda", dtype=torch.float16).is_cuda
x.to(torch.ones(1).cuda()).is_cuda
x.is_pinned("cuda") is False
x.pin_memory("cuda").is_pinned()
torch.load(io.BytesIO(B), map_location="cuda").is_cuda
torch.load(io.BytesIO(B), map_location={"cpu": "cuda:0"}).is_cuda
torch.load(io.BytesIO(B), map_location=torch.device("cuda")).is_cuda
torch.autocast("cuda").device == "npu"
torch.autocast(device_type="cuda", dtype=torch.bfloat16).fast_dtype == torch.bfloat16
torch.amp.autocast("cuda").device == "npu"
torch.cuda.amp.autocast().device == "npu"
torch.amp.GradScaler("cuda")._device == "npu"
torch.cuda.amp.GradScaler()._device == "npu"
torch.is_autocast_enabled("cuda") is False
torch.get_autocast_dtype("cuda") == torch.float16
torch.amp.custom_fwd(lambda ctx, x: x, device_type="cuda") is not None
torch.get_device_module("cuda").device_count() == 1
torch.cuda.is_bf16_supported()
torch.cuda.device_count() == 1
torch.cuda.current_device() == 0
torch.cuda.is_initialized()
torch.cuda.empty_cache() is None
torch.cuda.ipc_collect() is None
torch.cuda.Event(enable_timing=True).query()
torch.UntypedStorage(4, device="cuda").is_cuda
x.untyped_storage().cuda().is_cuda
x.untyped_storage().to(device="cuda").is_cuda
torch.nn.Parameter(x, requires_grad=False).cuda().is_cuda
torch.nn.utils.rnn.pack_sequence([x]).to("cuda").data.is_cuda
torch.sparse_coo_tensor(torch.tensor([[0,1]]), torch.tensor([1.,2.]), (3,), device="cuda").is_sparse
torch.utils.checkpoint.checkpoint(lambda t: t*2, x.cuda(), use_reentrant=False).is_cuda
torch.signal.windows.hann(4, device="cuda").is_cuda
next(iter(torch.utils.data.DataLoader([x], pin_memory=True, pin_memory_device="cuda"))).is_pinned()
torch.accelerator.memory_allocated("cuda") >= 0
torch.cuda._lazy_init() is None
len(torch.cuda.default_generators) == 1
torch.cuda.memory_snapshot() is not None
torch.cuda.memory._record_memory_history() is None
torch.cuda.memory._snapshot()["segments"] is not None
torch.nn.DataParallel(torch.nn.Linear(4, 2).cuda())(x.cuda()).is_cuda
torch.jit.script(m) is m
torch.cuda.stream(torch.cuda.Stream("cuda")) is not None
torch.cuda.graph_pool_handle() is not None
torch.backends.cuda.matmul.allow_tf32 in (True, False)
torch.distributed.is_nccl_available()
"""


def test_what_programs_for_cuda_call():
    said = run(
        f"""
        import io
        x, m, saved = torch.ones(3, 4), torch.nn.Linear(4, 2), io.BytesIO()
        torch.save(torch.ones(2), saved)
        B = saved.getvalue()
        for line in {CALLS.strip().splitlines()!r}:
            try:
                fine = eval(line) is True
            except Exception as error:
                fine = f"{{type(error).__name__}}: {{error}}"
            if fine is not True:
                print(line, "->", fine)
        """
    )
    assert not said.strip(), said


def test_blocks_and_classes_of_cuda():
    assert run(
        """
        x = torch.ones(3, 4)
        with torch.device("cuda"):
            assert torch.zeros(2).is_cuda
        with torch.cuda.device("cuda:0"), torch.random.fork_rng(["cuda:0"]), torch.random.fork_rng():
            assert torch.cuda.current_device() == 0
        with torch.cuda.nvtx.range("a"), torch.autocast("cuda", dtype=torch.float32):
            assert (x.cuda().half() @ x.cuda().half().T).dtype == torch.float32
        graph, y = torch.cuda.CUDAGraph(), x.cuda()
        with torch.cuda.graph(graph):
            z = y + 1
        graph.replay()
        assert z.sum().item() == 24

        class Mine(torch.Generator):
            pass

        assert isinstance(Mine(), torch.Generator) and not isinstance(torch.Generator(), Mine)
        print("done")
        """
    ).split() == ["done"]


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
