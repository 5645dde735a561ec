"""usage: bench_index.py [--op take|gather] [--rows N ...] [--min-run-time SECONDS] [--blocks N]

Times an indexing operator by torch.utils.benchmark. Reports median, quartiles and the number of samples; the table stays
in the L2 between the calls.
"""
import argparse

import numpy as np
import torch
import torch_npu
from torch.utils.benchmark import Timer

STATEMENTS = {
    "take": "torch.index_select(table, 0, index)",
    "gather": "torch.gather(table, 1, index.view(-1, 1) % table.shape[1])",
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", choices=STATEMENTS, default="take")
    parser.add_argument("--rows", type=int, nargs="+", default=[64, 512, 4096])
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--min-run-time", type=float, default=0.005)
    parser.add_argument("--blocks", type=int, default=21)
    return parser.parse_args()


def main():
    options = parse()
    for rows in options.rows:
        table = torch.ones(rows, options.width).npu()
        index = torch.arange(rows - 1, -1, -1).npu()
        timer = Timer(STATEMENTS[options.op], globals={"torch": torch, "table": table, "index": index})
        timer.timeit(20)  # loads the operator, fills the L2
        # autorange says how many calls a block needs; on a fast host that is so many that it stops after one block
        number = min(timer.blocked_autorange(min_run_time=options.min_run_time).number_per_run, 100)
        blocks = [timer.timeit(number).median for _ in range(options.blocks)]
        low, mid, high = np.quantile(blocks, [0.25, 0.5, 0.75]) * 1e6
        print(f"{options.op:7} rows={rows:<6} width={options.width}  median {mid:8.2f} us  quartiles {low:.2f} .. {high:.2f}"
              f"  ({len(blocks)} blocks of {number} calls, warm L2)")


main()
