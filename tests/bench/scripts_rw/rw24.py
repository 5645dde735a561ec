"""Two independent chains of matmuls: behind one another, and on two streams."""
import random
import time

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)
SIDE, LINKS, SAMPLES, DRAWS = 256, 6, 40, 2000

torch.manual_seed(29)
heads = [torch.randn(SIDE, SIDE).half().npu() for _ in range(2)]
factor = (torch.randn(SIDE, SIDE) / SIDE ** 0.5).half().npu()
ends = [None, None]
side_streams = [torch.npu.Stream(), torch.npu.Stream()]


def chain(which):
    h = heads[which]
    for _ in range(LINKS):
        h = h @ factor
    ends[which] = h


def one_stream():
    chain(0)
    chain(1)


def two_streams():
    main = torch.npu.current_stream()
    for which, stream in enumerate(side_streams):
        stream.wait_stream(main)
        with torch.npu.stream(stream):
            chain(which)
    for stream in side_streams:
        main.wait_stream(stream)


def sample(way):
    e0, e1 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t = time.perf_counter()
    e0.record()
    way()
    e1.record()  # on the main stream, behind both chains
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6, e0.elapsed_time(e1) * 1e3


ways = [one_stream, two_streams]
for way in ways * 6:
    sample(way)
one_stream()
expected = [e.clone() for e in ends]
two_streams()
torch.npu.synchronize()
print("same_result=%s" % all(torch.equal(a, b) for a, b in zip(expected, ends)))

order = ways * SAMPLES
random.Random(1).shuffle(order)
seen = {way: [] for way in ways}
for way in order:
    seen[way].append(sample(way))

rng = np.random.default_rng(0)


def interval(values):
    medians = np.median(rng.choice(values, (DRAWS, len(values))), axis=1)
    return np.quantile(medians, [0.025, 0.975])


print(f"work=2x{LINKS}_matmul side={SIDE} dtype=float16 samples_each={SAMPLES} order=shuffled warmup_each=6")
resampled = {}
for way in ways:
    host, device = np.array(seen[way]).T
    for clock, us in (("host_issue_and_wait", host), ("device_events", device)):
        low, high = interval(us)
        print(f"way={way.__name__} clock={clock} median_us={np.median(us):.2f} median_ci95_bootstrap_us={low:.2f}..{high:.2f} max_us={us.max():.2f}")
    resampled[way] = np.median(rng.choice(device, (DRAWS, len(device))), axis=1)
gain = np.median(np.array(seen[one_stream])[:, 1]) / np.median(np.array(seen[two_streams])[:, 1])
low, high = np.quantile(resampled[one_stream] / resampled[two_streams], [0.025, 0.975])
print(f"one_over_two_device={gain:.3f} ci95={low:.3f}..{high:.3f} note=device_events_span_fork_and_join,launch_gaps_included")
