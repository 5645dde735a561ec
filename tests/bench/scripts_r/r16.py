"""LayerNorm as the language models of this year use it: time per call over the hidden size."""
import numpy as np
import torch
import torch_npu  # noqa: F401

RAMP = 6
CALLS = 24
PASSES = 9
HIDDEN = (768, 1536, 3072)
TOKENS = 512


def new_layer(hidden):
    layer = torch.nn.LayerNorm(hidden).half().npu()
    layer.requires_grad_(False)
    return layer


def new_tokens(hidden):
    return torch.randn(TOKENS, hidden).half().npu()


def check(layer, tokens):
    want = torch.nn.functional.layer_norm(tokens.float().cpu(), tokens.shape[-1:])
    torch.testing.assert_close(layer(tokens).float().cpu(), want, rtol=1e-2, atol=1e-2)


def spin(layer, tokens, times):
    for _ in range(times):
        layer(tokens)


def one_pass(layer, tokens):
    """Brings the device up to speed, then has it note begin and end of the calls. Returns the two marks."""
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    spin(layer, tokens, RAMP)
    begin.record()
    spin(layer, tokens, CALLS)
    end.record()
    return begin, end


def per_call(marks):
    torch.npu.synchronize()
    ran = RAMP + CALLS
    return np.array([begin.elapsed_time(end) * 1e3 / ran for begin, end in marks])


def line(hidden, us):
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    rate = 2 * 2 * TOKENS * hidden / p50 / 1e3
    return f"{hidden:7} {p50:10.3f} {p10:10.3f} {p90:10.3f} {rate:14,.0f}"


def main():
    torch.manual_seed(14)
    print(f"LayerNorm, float16, {TOKENS} tokens, the same ones in each call, so out of the L2")
    print(f"{PASSES} passes of {CALLS} calls, each after {RAMP} calls that are not timed")
    print(f"{'hidden':>7} {'median us':>10} {'P10':>10} {'P90':>10} {'GB/s from L2':>14}")
    for hidden in HIDDEN:
        layer, tokens = new_layer(hidden), new_tokens(hidden)
        check(layer, tokens)
        spin(layer, tokens, RAMP)
        marks = [one_pass(layer, tokens) for _ in range(PASSES)]
        print(line(hidden, per_call(marks)))


if __name__ == "__main__":
    main()
