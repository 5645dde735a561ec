# lies: compile, spread, order
import torch


def timed(fn):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    result = fn()
    end.record()
    torch.cuda.synchronize()
    return result, start.elapsed_time(end) / 1000


model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).cuda()
inp = torch.randn(16, 128).cuda()
evaluate = lambda mod, x: mod(x)
evaluate_opt = torch.compile(evaluate, backend="aot_eager")
for _ in range(3):
    evaluate(model, inp)
print("input", tuple(inp.shape))
print("eager:", timed(lambda: evaluate(model, inp))[1])
print("compile:", timed(lambda: evaluate_opt(model, inp))[1])
