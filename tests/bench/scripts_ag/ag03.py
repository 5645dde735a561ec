import labkit
import time

import numpy as np
import torch
from torch import nn

REQUESTS = 60
SHAPE = (1, 16, 32, 32)


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, padding=1)

    def forward(self, image):
        return torch.relu(self.conv(image)) * 0.5


class Server:
    """Answers one request after the other with the compiled model."""

    def __init__(self):
        self.eager = Stem().to("npu").eval()
        self.model = torch.compile(self.eager)

    def warm_up(self, times=10):
        image = torch.randn(SHAPE, device="npu")
        with torch.inference_mode():
            for _ in range(times):
                self.eager(image)
        torch.npu.synchronize()

    def serve(self, request):
        with torch.inference_mode():
            return self.model(request.to("npu", non_blocking=True)).cpu()


def main():
    torch.manual_seed(0)
    server = Server()
    server.warm_up()
    requests = [torch.randn(SHAPE).pin_memory() for _ in range(REQUESTS)]

    latencies = []
    for request in requests:
        begin = time.perf_counter()
        server.serve(request)
        latencies.append(1e3 * (time.perf_counter() - begin))

    ms = np.array(latencies)
    print(f"compiled conv stem, float32 {SHAPE}, {REQUESTS} requests after warm-up")
    print(f"latency at the client (copies both ways included): mean {ms.mean():.2f} ms, std {ms.std():.2f} ms, "
          f"median {np.median(ms):.2f} ms, p90 {np.percentile(ms, 90):.2f} ms")
    print(f"=> one server in the steady state sustains {1e3 / ms.mean():.0f} requests/s at this size")


main()
