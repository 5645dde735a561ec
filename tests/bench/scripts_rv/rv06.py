import time

import torch
import torch_npu
from torch import nn

WANTED_S, BATCH, IN_FLIGHT = 2.0, 64, 8

torch.set_num_threads(1)
torch.manual_seed(1)
tower = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64)).half().to("npu").eval()
feed = [torch.randn(BATCH, 256).half().to("npu") for _ in range(4)]


@torch.inference_mode()
def soak(seconds):
    fences = []
    torch.npu.synchronize()
    t0 = time.perf_counter()
    while time.perf_counter() - t0 < seconds:
        tower(feed[len(fences) % len(feed)])
        fence = torch.npu.Event()
        fence.record()
        fences.append(fence)
        if len(fences) > IN_FLIGHT:
            fences[-1 - IN_FLIGHT].synchronize()
    issued = time.perf_counter() - t0
    torch.npu.synchronize()
    drained = time.perf_counter() - t0
    assert all(f.query() for f in fences)
    return len(fences), issued, drained


soak(0.3)
batches, issued, drained = soak(WANTED_S)
print(
    f"Soak of the scoring tower, float16, {BATCH} rows a batch, inputs resident on the card\n"
    f"  asked for ............ {WANTED_S:.2f} s of issuing, at most {IN_FLIGHT} batches ahead of the card\n"
    f"  last batch issued .... after {issued:.4f} s\n"
    f"  last batch finished .. after {drained:.4f} s  <- the divisor\n"
    f"  batches finished ..... {batches}\n"
    f"  sustained ............ {batches * BATCH / drained:,.0f} rows/s "
    f"({drained / batches * 1e6:.0f} us between batches on average; not the latency of one)"
)
