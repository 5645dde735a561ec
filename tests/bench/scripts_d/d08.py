# right
# decode loop: the time of a token, all tokens kept, first ones left out as warm-up
import time
import statistics
import torch
import torch_npu

torch.manual_seed(0)
emb = torch.nn.Embedding(500, 128).npu()
head = torch.nn.Linear(128, 500).npu()
token = torch.zeros(1, dtype=torch.long).npu()
steps = []
with torch.no_grad():
    for i in range(40):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(8):
            token = head(emb(token)).argmax(-1)
        torch.npu.synchronize()
        if i >= 8:
            steps.append((time.perf_counter() - t) / 8 * 1e6)
q = statistics.quantiles(steps, n=20)
print(f"greedy step, vocabulary 500, width 128: P50 {q[9]:.1f} us, P95 {q[18]:.1f} us, {len(steps)} samples")
