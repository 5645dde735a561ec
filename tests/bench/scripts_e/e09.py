"""How many images a second do one and two streams get through? With labkit.bench.throughput."""
import torch
import torch_npu

from labkit import bench

weights = torch.ones(256, 256).npu()


def stepper(streams, inputs):
    def step():
        for stream, x in zip(streams, inputs):
            with torch.npu.stream(stream):
                torch.relu(x @ weights)

    return step


for batch in (8, 64):
    for count in (1, 2):
        streams = [torch.npu.Stream() for _ in range(count)]
        inputs = [torch.ones(batch, 256).npu() for _ in range(count)]
        torch.npu.synchronize()
        result = bench.throughput(stepper(streams, inputs), name=f"batch {batch}, {count} streams", items=batch * count,
                                  seconds=0.002, streams=streams)
        print(result, "(inputs and weights stay in the L2)")
