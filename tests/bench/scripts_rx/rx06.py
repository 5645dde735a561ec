"""Is F.embedding any different from table.index_select? We had an argument about it, here are numbers."""
import argparse
import threading

import torch
import torch.nn.functional as F
import torch_npu


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--dim", type=int, default=512)
    p.add_argument("--tokens", type=int, default=4096)
    p.add_argument("--laps", type=int, default=20)
    p.add_argument("--burst", type=int, default=8)
    return p.parse_args()


def in_its_own_thread(fn, burst, ledger):
    """One burst of lookups on a stream that belongs to this thread alone; the caller joins."""

    def body():
        lane = torch.npu.Stream()
        lane.wait_stream(torch.npu.default_stream())
        with torch.npu.stream(lane):
            fn()
            opened = torch.npu.Event(enable_timing=True)
            closed = torch.npu.Event(enable_timing=True)
            opened.record(lane)
            for _ in range(burst):
                fn()
            closed.record(lane)
            lane.synchronize()
        ledger.append((opened, closed))

    t = threading.Thread(target=body)
    t.start()
    t.join()


def quartiles(pairs, burst):
    us = sorted(a.elapsed_time(b) * 1e3 / burst for a, b in pairs)
    pick = lambda q: us[round(q * (len(us) - 1))]
    return pick(0.25), pick(0.5), pick(0.75)


def main():
    o = parse()
    gen = torch.Generator().manual_seed(42)
    table = torch.randn(o.vocab, o.dim, generator=gen).half().to("npu")
    ids = torch.randint(o.vocab, (o.tokens,), generator=gen).to("npu")

    def by_embedding():
        return F.embedding(ids, table)

    def by_index_select():
        return table.index_select(0, ids)

    assert torch.equal(by_embedding(), by_index_select()), "they should agree bit for bit"
    torch.npu.synchronize()

    book = {by_embedding: [], by_index_select: []}
    for lap in range(o.laps):
        order = (by_embedding, by_index_select) if lap % 2 == 0 else (by_index_select, by_embedding)
        for fn in order:
            in_its_own_thread(fn, o.burst, book[fn])

    a = quartiles(book[by_embedding], o.burst)
    b = quartiles(book[by_index_select], o.burst)
    print(f"So: {o.tokens} random ids into a {o.vocab} x {o.dim} fp16 table, and both calls give back exactly the same rows.")
    print(f"On the device clock F.embedding takes {a[1]:.2f} us a lookup (quartiles {a[0]:.2f} to {a[2]:.2f}).")
    print(f"table.index_select takes {b[1]:.2f} us ({b[0]:.2f} to {b[2]:.2f}).")
    gap = abs(a[1] - b[1]) / min(a[1], b[1])
    if gap < 0.03:
        print(f"That is {gap:.1%} apart, which I would not call a difference.")
    else:
        print(f"That makes {'F.embedding' if a[1] < b[1] else 'index_select'} the quicker one here, by {gap:.0%} of its own time.")
    print(f"Behind each figure stand {o.laps} bursts of {o.burst} lookups between one pair of events, the two taking turns")
    print("at going first, each burst in a fresh thread with a fresh stream and never two at once. One lookup runs before")
    print("each burst and is not counted, so the rows are as warm in L2 as they get; a table seen for the first time is slower.")
    print("Whatever gap the host leaves between two launches of a burst is in the figures of both.")


if __name__ == "__main__":
    main()
