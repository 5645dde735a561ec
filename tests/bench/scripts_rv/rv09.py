import functools
import time

import torch
import torch_npu

LAYERS, D, B = 8, 128, 16
RUNS, WINDOWS = 5, 25

torch.set_num_threads(1)
torch.manual_seed(9)
weights = [(torch.randn(D, D) / D**0.5).half().to("npu") for _ in range(LAYERS)]
static_in = torch.randn(B, D).half().to("npu")


def net(x, ws):
    for w in ws:
        x = torch.relu(x @ w)
    return x


def timed_window(call):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(RUNS):
        call()
    t1 = time.perf_counter()
    torch.npu.synchronize()
    t2 = time.perf_counter()
    return (t1 - t0) / RUNS * 1e6, (t2 - t0) / RUNS * 1e6


eager = functools.partial(net, static_in, weights)
with torch.inference_mode():
    warm = torch.npu.Stream()
    with torch.npu.stream(warm):
        for _ in range(3):
            eager()
    torch.npu.synchronize()

    capture_ms = []
    for _ in range(2):
        graph = torch.npu.NPUGraph()
        t = time.perf_counter()
        with torch.npu.graph(graph):
            static_out = eager()
        torch.npu.synchronize()
        capture_ms.append((time.perf_counter() - t) * 1e3)

    static_in.copy_(torch.randn(B, D).half())
    graph.replay()
    torch.npu.synchronize()
    same = torch.equal(static_out, eager())

    cases = {"eager": eager, "replay": graph.replay}
    table = {}
    for name, call in cases.items():
        for _ in range(10):
            call()
        table[name] = [sorted(col)[WINDOWS // 2] for col in zip(*(timed_window(call) for _ in range(WINDOWS)))]

print(f"{LAYERS} x (mm, relu), {B}x{D} f16 | p50 of {WINDOWS} windows, {RUNS} forwards each, us/forward")
print("issued = host only, loop left, card maybe still busy; done = wait at the window's end included")
print("          issued      done")
for name, (issued, done) in table.items():
    print(f"{name:<7}{issued:>9.1f} {done:>9.1f}")
print(f"eager/replay, done: {table['eager'][1] / table['replay'][1]:.2f}")
print(f"capture, not in the above: the process's first {capture_ms[0]:.1f} ms (imports and all), second {capture_ms[1]:.2f} ms; outputs on a fresh input equal: {'yes' if same else 'NO'}")
