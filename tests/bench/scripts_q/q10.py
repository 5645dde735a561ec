"""Time of an optimizer's step() by optimizer: four weights of 512 x 512, float32, state left in the L2."""
import pandas as pd
import torch
import torch_npu  # noqa: F401

SHAPES = [(512, 512)] * 4
SAMPLES, WARM = 25, 4
MAKERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.01),
    "SGD, momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.001),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.001),
}

torch.manual_seed(0)
gradients = [torch.rand(shape) for shape in SHAPES]


def sample(optimizer, parameters):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    for p, gradient in zip(parameters, gradients):
        p.grad = gradient.to(p.device)
    optimizer.step()
    end.record()
    return start, end


subjects = {}
for name, make in MAKERS.items():
    parameters = [torch.nn.Parameter(torch.rand(shape).npu()) for shape in SHAPES]
    subjects[name] = make(parameters), parameters

for optimizer, parameters in subjects.values():
    for _ in range(WARM):
        sample(optimizer, parameters)
torch.npu.synchronize()

marks = {name: [] for name in subjects}
for _ in range(SAMPLES):
    for name, (optimizer, parameters) in subjects.items():
        marks[name].append(sample(optimizer, parameters))
torch.npu.synchronize()

taken = {name: [1e3 * start.elapsed_time(end) for start, end in pairs] for name, pairs in marks.items()}
table = pd.DataFrame(taken).describe(percentiles=[0.1, 0.5, 0.9]).T[["count", "10%", "50%", "90%", "max"]]
print(table.round(1).to_string())
sgd, adam = table.loc["SGD", "50%"], table.loc["Adam", "50%"]
print(f"step() of Adam takes {adam:.0f} us, that of SGD {sgd:.0f} us: {adam / sgd:.2f} times as long for four weights of 512 x 512")
