"""hbm_stream.py - device-to-device copy rate with a working set the L2 cannot hold. Prints one JSON object."""
import json
import statistics
import threading

import torch
import torch_npu

PAIR_BYTES = 96 << 20
PAIRS = 4
ROUNDS = 8
HBM_DATASHEET_GB_S = 1600


def fresh_pairs():
    made = []
    for tag in range(PAIRS):
        src = torch.full((PAIR_BYTES,), tag + 1, dtype=torch.uint8, device="npu")
        made.append((src, torch.zeros(PAIR_BYTES, dtype=torch.uint8, device="npu")))
    return made


def lane(pairs, stream, gate, epoch, sink):
    head, tail = (torch.npu.Event(enable_timing=True) for _ in range(2))
    with torch.npu.stream(stream):
        gate.wait()
        head.record()
        for src, dst in pairs:
            dst.copy_(src)
        tail.record()
        stream.synchronize()
    sink.append((epoch.elapsed_time(head), epoch.elapsed_time(tail)))


def sweep(pairs, streams):
    """All pairs once, dealt out to the lanes; ms from the earliest head to the latest tail."""
    epoch = torch.npu.Event(enable_timing=True)
    epoch.record()
    torch.npu.synchronize()
    gate, sink = threading.Barrier(len(streams)), []
    crew = [
        threading.Thread(target=lane, args=(pairs[i :: len(streams)], s, gate, epoch, sink))
        for i, s in enumerate(streams)
    ]
    for t in crew:
        t.start()
    for t in crew:
        t.join()
    return max(end for _, end in sink) - min(start for start, _ in sink)


def main():
    pairs = fresh_pairs()
    traffic = 2 * PAIR_BYTES * PAIRS
    l2 = torch.npu.get_device_properties(0).L2_cache_size
    result = {
        "what": "copy_ device to device, read + write traffic",
        "traffic_bytes_per_sweep": traffic,
        "working_set_bytes": traffic,
        "l2_reported": l2,
        "cache_state": "each sweep touches every buffer once, so a buffer is evicted before its next turn",
        "rounds": ROUNDS,
        "datasheet_hbm_GB_per_s": HBM_DATASHEET_GB_S,
        "lanes": {},
    }
    pool = [torch.npu.Stream() for _ in range(2)]
    for count in (1, 2):
        streams = pool[:count]
        sweep(pairs, streams)
        ms = [sweep(pairs, streams) for _ in range(ROUNDS)]
        mid = statistics.median(ms)
        result["lanes"][str(count)] = {
            "span_ms_median": round(mid, 4),
            "span_ms_min_max": [round(min(ms), 4), round(max(ms), 4)],
            "span": "first lane's head event to last lane's tail event",
            "GB_per_s_at_median": round(traffic / mid / 1e6, 1),
            "share_of_datasheet": round(traffic / mid / 1e6 / HBM_DATASHEET_GB_S, 3),
        }
    result["bytes_verified"] = all(bool((dst == src).all()) for src, dst in pairs)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
