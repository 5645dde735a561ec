"""torch.distributed on npu tensors, two processes over gloo: collectives, DDP, DTensor, tensor parallel, FSDP2."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")


from device_lab import simulated  # noqa: E402

pytestmark = [simulated, pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")]

_WORKER = """
import sys
import torch, labkit.device as device
import torch.distributed as dist
from torch import nn
backend = sys.argv[1]
if backend == "mesh":  # makes the group itself
    from torch.distributed.device_mesh import init_device_mesh
    init_device_mesh("npu", (2,))
else:
    dist.init_process_group(*([backend] if backend else []))
rank = dist.get_rank()
npu = dict(device="npu")
full = lambda n, value: torch.full((n,), float(value), **npu)

t = full(4, rank + 1)
pointer = t.data_ptr()
dist.all_reduce(t)
assert t.tolist() == [3] * 4 and t.data_ptr() == pointer, "in place"
parts = [torch.empty(2, **npu) for _ in range(2)]
dist.all_gather(parts, full(2, rank))
assert [p.tolist() for p in parts] == [[0, 0], [1, 1]]
assert device.block(parts[0].data_ptr())[2], "what arrives counts as written"
b = full(3, rank)
dist.broadcast(b, 1)
assert b.tolist() == [1] * 3
gathered = torch.empty(4, **npu)
dist.all_gather_into_tensor(gathered, full(2, rank))
assert gathered.tolist() == [0, 0, 1, 1]
mine = torch.empty(2, **npu)
dist.reduce_scatter_tensor(mine, torch.arange(4.0, **npu))
assert mine.tolist() == [4 * rank, 4 * rank + 2]
from torch_npu.distributed import all_gather_into_tensor_uneven, reduce_scatter_tensor_uneven
sizes, rows = [1, 3], torch.full((1 + 2 * rank, 2), float(rank), **npu)
gathered = torch.empty(4, 2, **npu)
all_gather_into_tensor_uneven(gathered, rows, sizes, async_op=True).wait()
assert gathered.tolist() == [[0, 0]] + 3 * [[1, 1]]
reduce_scatter_tensor_uneven(rows, gathered, sizes)
assert rows.flatten().tolist() == ([0, 0] if rank == 0 else [2] * 6)
all_gather_into_tensor_uneven(gathered, rows[:1].expand(2, 2).contiguous())
assert gathered.tolist() == 2 * [[0, 0]] + 2 * [[2, 2]]
swapped = torch.empty(2, **npu)
dist.all_to_all_single(swapped, torch.arange(2.0, **npu) + 10 * rank)
assert swapped.tolist() == [rank, rank + 10]
work = dist.all_reduce(t, async_op=True)
work.wait()
assert t.tolist() == [6] * 4
dist.send(full(2, 7), 1) if rank == 0 else dist.recv(mine, 0)
assert rank == 0 or mine.tolist() == [7, 7]
dist.barrier()
said = [None, None]
dist.all_gather_object(said, {"rank": rank})
assert [s["rank"] for s in said] == [0, 1]
assert any(s.name == "c10d::allreduce_" and s.end_us > s.start_us for s in device.timeline())

torch.manual_seed(0)
linear = nn.Linear(4, 4).npu()
parallel = nn.parallel.DistributedDataParallel(linear, device_ids=[0])
parallel(torch.full((2, 4), float(rank), **npu)).sum().backward()
assert linear.weight.grad.tolist() == [[1.0] * 4] * 4, "the mean of 0 and 2"

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("npu", (2,))
sharded = distribute_tensor(torch.arange(8.0, **npu).reshape(4, 2), mesh, [Shard(0)])
assert sharded.to_local().shape == (2, 2)
assert (sharded * 2).full_tensor().tolist() == (torch.arange(8.0).reshape(4, 2) * 2).tolist()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).npu()
for p in model.parameters():
    dist.broadcast(p.data, 0)
x = torch.ones(2, 4, **npu)
whole = model(x)
parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
torch.testing.assert_close(model(x), whole)

from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
reference = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).npu()
want = reference(x)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).npu()
for layer in (*model, model):
    fully_shard(layer, mesh=mesh)
torch.testing.assert_close(model(x), want)
if torch.__version__ >= "2.7":  # the backward pass of 2.6's FSDP2 asks for CUDA by name
    model(x).sum().backward()
    torch.optim.SGD(model.parameters(), 0.1).step()
    assert not torch.equal(model(x), want)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, rand
mesh = init_device_mesh("npu", (2,))
torch.manual_seed(7)
shard, whole = (rand(4, 3, device_mesh=mesh, placements=[p]).to_local().cpu() for p in (Shard(0), Replicate()))
all_of_them = [None, None]
dist.all_gather_object(all_of_them, (shard, whole))
(first, a), (second, b) = all_of_them
assert torch.equal(a, b) and not torch.equal(first, second), "a replica is the same everywhere, shards are not"
heads = distribute_tensor(torch.randn(2, 4, 6, 8), mesh, [Shard(1)])
assert nn.functional.scaled_dot_product_attention(heads, heads, heads).placements == (Shard(1),)
dist.destroy_process_group()
print("done", rank)
"""


@pytest.mark.parametrize("backend", ["hccl", "cpu:gloo,npu:hccl", "npu:hccl", "", "mesh"])
def test_two_processes(backend):
    if not hasattr(__import__("torch.distributed.fsdp").distributed.fsdp, "fully_shard"):
        pytest.skip("this torch has FSDP2 at another place")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, backend],
            env={**env, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank, run in enumerate(runs):
        try:
            out, err = run.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            for other in runs:
                other.kill()
            raise
        assert out.endswith(f"done {rank}\n"), err[-2000:]  # gloo may print before
