"""NPUGraph replay of a pre-norm MLP block, with and without the copy into the static input."""
import csv
import io
import statistics

import torch
import torch.nn as nn
import torch_npu

DEVICE = "npu"
TRIALS, REPLAYS = 10, 12


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def between_events(body):
    start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    body()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


@torch.no_grad()
def bench(tokens, width):
    net = Block(width).half().to(DEVICE).eval()
    incoming = [torch.randn(tokens, width, dtype=torch.float16, device=DEVICE) for _ in range(4)]
    static_in = incoming[0].clone()

    for _ in range(3):
        net(static_in)
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        static_out = net(static_in)

    def replay_only():
        for _ in range(REPLAYS):
            graph.replay()

    def copy_and_replay():
        for i in range(REPLAYS):
            static_in.copy_(incoming[i % len(incoming)])
            graph.replay()

    copy_and_replay()
    replay_only()
    torch.testing.assert_close(static_out.cpu(), net(static_in).cpu(), rtol=1e-2, atol=1e-2)

    plain, fed = [], []
    for trial in range(TRIALS):
        for sink, body in ((plain, replay_only), (fed, copy_and_replay))[:: 1 if trial % 2 else -1]:
            sink.append(between_events(body) / REPLAYS)
    return plain, fed


torch.set_num_threads(1)
buffer = io.StringIO()
table = csv.writer(buffer, lineterminator="\n")
table.writerow("tokens width replay_us replay_min_us replay_max_us copy_in_plus_replay_us".split())
for tokens, width in ((32, 128), (128, 128), (128, 256)):
    plain, fed = bench(tokens, width)
    table.writerow([tokens, width, f"{statistics.median(plain):.1f}", f"{min(plain):.1f}", f"{max(plain):.1f}",
                    f"{statistics.median(fed):.1f}"])
print(f"# float16, median of {TRIALS} trials of {REPLAYS} back-to-back replays on warm data; the capture is in no column")
print(buffer.getvalue(), end="")
