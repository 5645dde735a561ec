"""Which HBM bandwidth does an embedding lookup reach?"""
import torch
import torch_npu
import torch.nn.functional as F

VOCAB, WIDTH, TOKENS = 16000, 1024, 8192
LOOKUPS, REPEATS = 16, 7

torch.set_num_threads(1)
torch.manual_seed(1)


def run(ids, table):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for _ in range(LOOKUPS):
        F.embedding(ids, table)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) / LOOKUPS  # ms


def main():
    table = torch.randn(VOCAB, WIDTH, device="npu")
    ids = torch.randperm(VOCAB)[:TOKENS].to("npu")

    run(ids, table)
    ms = sorted(run(ids, table) for _ in range(REPEATS))
    middle = ms[REPEATS // 2]

    row = WIDTH * table.element_size()
    read = TOKENS * (row + ids.element_size())
    written = TOKENS * row
    rate = (read + written) / (middle * 1e-3) / 1e9

    print(f"The table has {VOCAB} rows of {row} bytes; {TOKENS} distinct rows are looked up, in random order.")
    print(f"One lookup moves {read / 2**20:.1f} MiB out of and {written / 2**20:.1f} MiB into the HBM.")
    print(f"It takes {middle * 1e3:.1f} us, median of {REPEATS} runs of {LOOKUPS} lookups ({ms[0] * 1e3:.1f} to {ms[-1] * 1e3:.1f} us).")
    print(f"So the gather sustains {rate:,.0f} GB/s of HBM traffic.")


main()
