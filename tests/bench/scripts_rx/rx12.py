import torch
import torch_npu

SHAPE = 768
OPS = {
    "mm": lambda t, u: torch.mm(t, u),
    "add": lambda t, u: torch.add(t, u),
    "exp": lambda t, u: torch.exp(t),
    "sum(-1)": lambda t, u: torch.sum(t, -1),
}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
RUNS, PER_RUN = 9, 4


def timed_runs(fn, t, u):
    for _ in range(2):
        fn(t, u)
    torch.npu.synchronize()
    fences = [torch.npu.Event(enable_timing=True) for _ in range(RUNS + 1)]
    fences[0].record()
    for fence in fences[1:]:
        for _ in range(PER_RUN):
            fn(t, u)
        fence.record()
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1e3 / PER_RUN for a, b in zip(fences, fences[1:])]


def median(v):
    v = sorted(v)
    m = len(v) // 2
    return v[m] if len(v) & 1 else 0.5 * (v[m - 1] + v[m])


def rel_err(fn, t, u):
    got = fn(t, u).cpu().double()
    ref = fn(t.cpu().double(), u.cpu().double())
    return ((got - ref).norm() / ref.norm()).item()


if __name__ == "__main__":
    g = torch.Generator().manual_seed(4)
    base = [torch.randn(SHAPE, SHAPE, generator=g) for _ in range(2)]
    print(f"{SHAPE}^2 operands, {RUNS} runs of {PER_RUN}, fence events on one stream, us/op, operands L2-warm")
    print("op        dtype     P50     best    worst   x fp32   rel.err vs f64 of same operands")
    for op, fn in OPS.items():
        ref = None
        for tag, dt in DTYPES.items():
            t, u = (m.to(dt).to("npu") for m in base)
            us = timed_runs(fn, t, u)
            mid = median(us)
            ref = ref or mid
            print(f"{op:<9} {tag:<5} {mid:8.2f} {min(us):8.2f} {max(us):8.2f} {ref / mid:7.2f}   {rel_err(fn, t, u):.1e}")
    one = torch.zeros(1, device="npu")
    floor = timed_runs(lambda t, u: torch.add(t, u), one, one)
    print(f"launch floor: add of one fp32 element, same method, {median(floor):.2f} us; rows near it say little about the dtype")
    print(f"allow_hf32 for matmul: {torch.npu.matmul.allow_hf32}")
