"""conv1d: a ring of eight event pairs, read out when it comes round again; so there is no wait for a fresh call."""
import torch
import torch_npu  # noqa: F401

RING, TOTAL = 8, 120


def stream_of_times(layer, x):
    ring = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(RING)]
    out = []
    for i in range(TOTAL):
        a, b = ring[i % RING]
        if i >= RING:
            b.synchronize()
            out.append(a.elapsed_time(b) * 1000)
        a.record()
        layer(x)
        b.record()
    torch.npu.synchronize()
    out += [a.elapsed_time(b) * 1000 for a, b in (ring[(TOTAL + k) % RING] for k in range(RING))]
    return out


with torch.no_grad():
    for length in (512, 4096):
        layer = torch.nn.Conv1d(32, 64, 5, padding=2).npu()
        x = torch.ones(8, 32, length).npu()
        for _ in range(20):
            layer(x)
        torch.npu.synchronize()
        t = torch.tensor(stream_of_times(layer, x))
        q = torch.quantile(t, torch.tensor([0.1, 0.5, 0.9]))
        print(f"conv1d 32->64 k5, input (8, 32, {length}): P10 {q[0]:.1f}, P50 {q[1]:.1f}, P90 {q[2]:.1f} us, {len(t)} calls in a row")
