import logging
import sys
import time

import numpy as np
import torch
import torch_npu

logging.basicConfig(stream=sys.stdout, format="[stream-copy] %(message)s", level=logging.INFO)
say = logging.info

MIB = 1 << 20
BLOCK, BLOCKS, L2 = 128 * MIB, 4, 192 * MIB
WINDOWS = 12
PEAK_GBPS = 1600

bufs = [torch.full((BLOCK // 4,), float(i), device="npu") for i in range(BLOCKS)]


def lap():
    """Even blocks go into their odd neighbours; a block comes round again only after all others have passed."""
    for i in range(0, BLOCKS, 2):
        bufs[i + 1].copy_(bufs[i])


lap()
torch.npu.synchronize()
took = np.empty(WINDOWS)
for w in range(WINDOWS):
    t = time.perf_counter()
    lap()
    torch.npu.synchronize()
    took[w] = time.perf_counter() - t

moved = BLOCK * BLOCKS  # half of it read, half of it written
rate = moved / took / 1e9
say("copies between float32 blocks of %d MiB, %d blocks in turn: %d MiB pass before one is touched again, L2 has %d MiB",
    BLOCK // MIB, BLOCKS, BLOCK * BLOCKS // MIB, L2 // MIB)
say("bytes counted: read + written, %.1f MB per window; GB = 1e9", moved / 1e6)
say("median window %.2f ms -> %.1f GB/s", np.median(took) * 1e3, moved / np.median(took) / 1e9)
say("slowest window %.1f GB/s, best window %.1f GB/s, of %d", rate.min(), rate.max(), WINDOWS)
say("for comparison, the HBM's rated %d GB/s; the median is %.1f %% of it", PEAK_GBPS, 100 * moved / np.median(took) / 1e9 / PEAK_GBPS)
say("a window is two copies and one wait; clock: host")
