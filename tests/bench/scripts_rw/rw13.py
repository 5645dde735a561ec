"""An open-loop server of one: requests come when they come, whether or not it is free."""
import random
import time

import torch
import torch_npu

torch.set_num_threads(1)
REQUESTS, WARM, MEAN_GAP_S = 240, 20, 0.004

torch.manual_seed(4)
body = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).npu().eval()
payload = torch.randn(16, 128, device="npu")


@torch.no_grad()
def answer():
    head, tail = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    head.record()
    body(payload)
    tail.record()
    torch.npu.synchronize()
    return head, tail


for _ in range(WARM):
    answer()

dice = random.Random(90)
due, offset = [], 0.0
for _ in range(REQUESTS):
    offset += dice.expovariate(1 / MEAN_GAP_S)
    due.append(offset)

latency, service, device = [], [], []
origin = time.perf_counter()
for arrival in due:
    early = origin + arrival - time.perf_counter()
    if early > 0:
        time.sleep(early)
    picked_up = time.perf_counter()
    on_device = answer()
    done = time.perf_counter()
    latency.append((done - origin - arrival) * 1e3)
    service.append((done - picked_up) * 1e3)
    device.append(on_device)  # read when all is over
elapsed = time.perf_counter() - origin
device = [head.elapsed_time(tail) for head, tail in device]


def bars(values, low, high, depth=0):
    """Halve the range until a bin has few values or is narrow."""
    inside = [v for v in values if low <= v < high]
    if not inside:
        return
    if depth < 4 and len(inside) > len(latency) // 12:
        middle = (low + high) / 2
        bars(inside, low, middle, depth + 1)
        bars(inside, middle, high, depth + 1)
        return
    print(f"  {low:8.3f} .. {high:8.3f} ms |{'#' * -(-len(inside) // 4)} {len(inside)}")


def line(label, values):
    s = sorted(values)
    pick = lambda share: s[min(len(s) - 1, int(share * len(s)))]
    print(f"  {label:49} p50 {pick(.5):8.3f}  p95 {pick(.95):8.3f}  max {s[-1]:8.3f} ms")


print(f"{REQUESTS} requests, Poisson arrivals, {1 / MEAN_GAP_S:.0f}/s intended on average, {REQUESTS / elapsed:.0f}/s served, one at a time; "
      f"{WARM} answers before the clock started")
line("host: due -> answer there, queue, late wake-up in", latency)
line("host: picked up -> answer there, wait in", service)
line("device: between two events around the forward", device)
print("latency from the due time (bins of unequal width, a # is up to 4 requests):")
top = max(latency) * 1.000001
bars(latency, 0.0, top)
print(f"The server was busy {sum(service) / elapsed / 10:.0f} % of the time.")
