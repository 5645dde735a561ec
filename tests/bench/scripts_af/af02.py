import labkit
import time

import numpy as np
import torch

# End-to-end latency of a small service: a request brings 64 rows of 1024 floats and wants their
# prefix sums back. One client, which sends its next request when it has the answer.
ROWS, COLS = 64, 1024
WARM, REQUESTS = 100, 2000


class PrefixSums:
    """What the service calls for each request: in from host memory, out to host memory."""

    def __init__(self):
        self.device = torch.device("npu")

    def __call__(self, payload):
        on_device = payload.to(self.device)
        return torch.cumsum(on_device, dim=-1).cpu()  # .cpu() waits for the device


def requests(count, seed):
    generator = torch.Generator().manual_seed(seed)
    pool = [torch.rand(ROWS, COLS, generator=generator) for _ in range(128)]
    for i in range(count):
        yield pool[i % len(pool)]


def serve(handler, stream):
    taken = []
    for payload in stream:
        begin = time.perf_counter()
        handler(payload)
        taken.append(time.perf_counter() - begin)
    return 1e6 * np.array(taken)


handler = PrefixSums()
probe = torch.rand(ROWS, COLS)
np.testing.assert_allclose(handler(probe).numpy(), probe.double().cumsum(-1).numpy(), rtol=1e-4)

serve(handler, requests(WARM, seed=1))
latency = serve(handler, requests(REQUESTS, seed=2))

p50, p90, p99 = np.percentile(latency, [50, 90, 99])
first, second = np.median(latency[: REQUESTS // 2]), np.median(latency[REQUESTS // 2 :])
print(f"Prefix sums of {ROWS} x {COLS} float32, request in and answer out through pageable host memory")
print(f"Closed loop, one request in flight; {REQUESTS} requests behind {WARM} of warm-up; host clock around the whole call")
print(f"latency: P50 {p50:.1f} us, P90 {p90:.1f} us, P99 {p99:.1f} us, slowest {latency.max():.1f} us")
print(f"median of the first half {first:.1f} us, of the second half {second:.1f} us")
print("This is what one waiting client sees. It is not the time of the kernel, and not a capacity under load.")
