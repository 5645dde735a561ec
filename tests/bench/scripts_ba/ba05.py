import argparse
import logging

import torch
import torch_npu

logger = logging.getLogger("bench.index_select")


def pick_and_scale(table, rows, gain):
    picked = torch.index_select(table, 0, rows)
    return torch.relu(picked * gain) + 1.0


def run_time_us(function, args, calls):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    for _ in range(calls):
        function(*args)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / calls


def parse():
    parser = argparse.ArgumentParser(description="row lookup with a gain, eager and compiled")
    parser.add_argument("--vocab", type=int, default=2048)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--calls", type=int, default=40)
    return parser.parse_args()


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s | %(message)s")
    opt = parse()
    torch.manual_seed(3)
    table = torch.randn(opt.vocab, opt.dim, device="npu")
    rows = torch.randint(0, opt.vocab, (opt.rows,), device="npu")
    gain = torch.rand(opt.rows, 1, device="npu")
    args = table, rows, gain

    for _ in range(5):
        expected = pick_and_scale(*args)
    torch.npu.synchronize()
    eager = run_time_us(pick_and_scale, args, opt.calls)

    fused = torch.compile(pick_and_scale)
    compiled = run_time_us(fused, args, opt.calls)
    torch.testing.assert_close(fused(*args), expected)

    logger.info("table %d x %d, %d rows, fp32, %d calls back to back", opt.vocab, opt.dim, opt.rows, opt.calls)
    logger.info("eager     running time %8.2f us a call", eager)
    logger.info("compiled  running time %8.2f us a call", compiled)
    logger.info("compiled / eager = %.2f", compiled / eager)


if __name__ == "__main__":
    main()
