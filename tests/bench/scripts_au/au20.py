"""Row selection for the replay buffer: what the caller waits, and what remains with resident ids."""
import statistics
import sys
import time

import torch
import torch_npu

FEATURES = 64
CASES = [(2000, 256), (2000, 1024), (8000, 1024)]   # rows in the buffer, rows drawn
SAMPLES, WARM, LOOP = 25, 5, 25


def drawn(rows, count, gen):
    return torch.randint(0, rows, (count,), generator=gen)


def request_us(buffer, host_ids):
    """Ids start on the host, as the sampler leaves them; done when the rows are on the device."""
    laps = []
    for i, ids in enumerate(host_ids):
        t = time.perf_counter()
        torch.index_select(buffer, 0, ids.to(buffer.device))
        torch.npu.synchronize()
        if i >= WARM:
            laps.append((time.perf_counter() - t) * 1e6)
    return laps


def stream_us(buffer, ids):
    laps = []
    for i in range(WARM + SAMPLES):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(LOOP):
            torch.index_select(buffer, 0, ids)
        torch.npu.synchronize()
        if i >= WARM:
            laps.append((time.perf_counter() - t) * 1e6 / LOOP)
    return laps


def cells(laps):
    q1, q2, q3 = statistics.quantiles(laps, n=4)
    return f"{q1:.0f},{q2:.0f},{q3:.0f}"


def main():
    gen = torch.Generator().manual_seed(12)
    out = sys.stdout
    out.write("# index_select on dim 0, float32, width %d; quartiles of %d samples after %d unrecorded ones, us\n"
              % (FEATURES, SAMPLES, WARM))
    out.write("# request: ids copied from the host, rows selected, one wait; the caller's latency, new ids every time\n")
    out.write("# stream: ids already on the device, %d calls per sample and one wait behind them, wall time per call\n" % LOOP)
    out.write("rows,drawn,request_q1,request_median,request_q3,stream_q1,stream_median,stream_q3\n")
    for rows, count in CASES:
        buffer = torch.randn(rows, FEATURES, generator=gen).npu()
        host_ids = [drawn(rows, count, gen) for _ in range(WARM + SAMPLES)]
        request = request_us(buffer, host_ids)
        stream = stream_us(buffer, host_ids[-1].npu())
        out.write(f"{rows},{count},{cells(request)},{cells(stream)}\n")


if __name__ == "__main__":
    main()
