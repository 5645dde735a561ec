"""SwiGLU gate, silu(gate) * up, on a worker stream: markdown for the wiki."""
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(512, 2048), (1024, 2048), (1024, 4096)]
CALLS = 30
ROUNDS = 3


def gated(gate, up):
    return F.silu(gate) * up


def device_us(worker, gate, up):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    with torch.npu.stream(worker):
        begin.record()
        for _ in range(CALLS):
            gated(gate, up)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / CALLS


def row(worker, shape):
    gate = torch.randn(shape, device="npu")
    up = torch.randn(shape, device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(worker):
        for _ in range(8):
            gated(gate, up)
    torch.npu.synchronize()

    rounds = sorted(device_us(worker, gate, up) for _ in range(ROUNDS))
    middle = rounds[ROUNDS // 2]
    rate = gate.numel() / middle / 1e3
    return [f"{shape[0]} x {shape[1]}", f"{middle:.2f}", f"{rounds[0]:.2f} - {rounds[-1]:.2f}", f"{rate:.1f}"]


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    worker = torch.npu.Stream()
    print(f"### silu(gate) * up, float32, {torch.npu.get_device_name(0)}")
    print()
    rows = [row(worker, shape) for shape in SHAPES]
    print(table(["shape", "device time, us a call", "lowest - highest", "G elements/s"], rows))
    print()
    print(f"Median of {ROUNDS} rounds of {CALLS} calls between two events, after 8 warm calls; operands warm in the L2.")


if __name__ == "__main__":
    main()
