"""How sorting scales with the batch: rows of 2048 floats, batch 1 to 64."""
import time
import statistics as st
import torch
import torch_npu

ROW = 2048
BATCHES = [1, 2, 4, 8, 16, 32, 64]
RUNS = 20

print(f"torch.sort, fp32, rows of {ROW}, each run sorts random numbers of its own, put on the device beforehand (10 MB at most in all)")
print(f"{'batch':>5} {'mean us':>10} {'std':>8} {'min':>8} {'median':>8} {'max':>8} {'us/row':>8}")

per_row = {}
for batch in BATCHES:
    host = [torch.rand(batch, ROW) for _ in range(RUNS)]
    data = [h.to("npu") for h in host]
    torch.npu.synchronize()

    us, results = [], []
    for x in data:
        t = time.perf_counter_ns()
        values, order = torch.sort(x, dim=1)
        torch.npu.synchronize()
        us.append((time.perf_counter_ns() - t) / 1e3)
        results.append(values)

    for h, v in zip(host, results):
        assert torch.equal(v.cpu(), h.sort(dim=1).values)

    mean = st.fmean(us)
    per_row[batch] = mean / batch
    print(f"{batch:5d} {mean:10.2f} {st.stdev(us):8.2f} {min(us):8.2f} {st.median(us):8.2f} {max(us):8.2f} "
          f"{per_row[batch]:8.3f}")

print(f"Steady-state cost of a sorted row (mean over {RUNS} runs, host call to device idle): "
      f"{per_row[BATCHES[0]]:.2f} us alone, {per_row[BATCHES[-1]]:.3f} us in a batch of {BATCHES[-1]}.")
