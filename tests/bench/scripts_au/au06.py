"""Memory paths of the card: host to device, device to host, and inside the device memory."""
import torch
import torch_npu

MIB = 1 << 20


def elapsed_s(fn, count):
    fn()
    fn()
    torch.npu.synchronize()
    first = torch.npu.Event(enable_timing=True)
    last = torch.npu.Event(enable_timing=True)
    first.record()
    for _ in range(count):
        fn()
    last.record()
    torch.npu.synchronize()
    return first.elapsed_time(last) / 1e3 / count


def host_paths(size):
    host = torch.empty(size, dtype=torch.uint8).pin_memory()
    card = torch.empty(size, dtype=torch.uint8, device="npu")
    up = elapsed_s(lambda: card.copy_(host, non_blocking=True), 4)
    down = elapsed_s(lambda: host.copy_(card, non_blocking=True), 4)
    return size / up / 1e9, size / down / 1e9


def device_path(size):
    src = torch.zeros(size // 4, device="npu")
    dst = torch.empty_like(src)
    secs = elapsed_s(lambda: dst.copy_(src), 12)
    return 2 * size / secs / 1e9


def main():
    print(f"Copies on {torch.npu.get_device_name(0)}.")

    up, down = host_paths(4 * MIB)
    print(f"With pinned host memory and blocks of 4 MiB, the link moves {up:.1f} GB/s to the card "
          f"and {down:.1f} GB/s back.")

    best = 0.0
    for size in (8 * MIB, 16 * MIB):
        rate = device_path(size)
        best = max(best, rate)
        print(f"A device-to-device copy of {size // MIB} MiB reaches {rate:.0f} GB/s, reads and writes counted.")

    print(f"So the HBM of this card delivers at least {best:.0f} GB/s to a plain copy, "
          f"{best / up:.0f} times what the link to the host brings in; "
          "weights that are streamed from HBM can be budgeted with that rate.")


if __name__ == "__main__":
    main()
