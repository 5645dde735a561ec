"""What a client of the classifier waits for."""
import torch
import torch_npu
import time
from contextlib import contextmanager

import numpy as np

FEATURES, CLASSES, BATCH = 512, 256, 16
WARM, REQUESTS = 20, 120


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(FEATURES, FEATURES)
        self.head = torch.nn.Linear(FEATURES, CLASSES)

    def forward(self, x):
        return self.head(torch.relu(self.body(x))).argmax(dim=-1)


@contextmanager
def lap(into):
    begin = time.perf_counter()
    yield
    into.append((time.perf_counter() - begin) * 1e6)


torch.manual_seed(3)
host_model = Classifier().eval()
model = Classifier().eval()
model.load_state_dict(host_model.state_dict())
model = model.npu()
requests = [torch.randn(BATCH, FEATURES) for _ in range(WARM + REQUESTS)]

latencies, answers = [], []
with torch.no_grad():
    for request in requests[:WARM]:
        model(request.npu()).cpu()
    torch.npu.synchronize()
    for request in requests[WARM:]:
        with lap(latencies):
            on_device = request.npu()
            labels = model(on_device)
            answer = labels.cpu().tolist()
        answers.append(answer)
    expected = [host_model(request).tolist() for request in requests[WARM:]]

agree = np.mean([a == b for got, want in zip(answers, expected) for a, b in zip(got, want)])
assert agree > 0.99, agree

p50, p90, p99 = np.percentile(latencies, [50, 90, 99])
print(f"Request latency, end to end, one request at a time: batch {BATCH} x {FEATURES} float32, {CLASSES} classes.")
print("Upload of the request, forward pass, download of the labels and the host's wait are all part of it;")
print("it is not the time of any operator on the device.")
print(f"P50 {p50:.1f} us, P90 {p90:.1f} us, P99 {p99:.1f} us, largest {max(latencies):.1f} us; {len(latencies)} requests after {WARM} to warm up")
print(f"labels equal to those of the CPU: {agree:.2%}")
