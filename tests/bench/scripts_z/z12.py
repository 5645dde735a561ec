import statistics
from contextlib import ExitStack

import torch
import torch_npu

CANDIDATES = {}


def candidate(function):
    CANDIDATES[function.__name__] = function
    return function


@candidate
def by_index_select(table, ids):
    return torch.index_select(table, 0, ids)


@candidate
def by_embedding(table, ids):
    return torch.nn.functional.embedding(ids, table)


class Series:
    def __init__(self, function, repeats, inner):
        self.function, self.repeats, self.inner = function, repeats, inner

    def run(self, *arguments):
        for _ in range(30):
            self.function(*arguments)
        torch.npu.synchronize()
        marks = [torch.npu.Event(enable_timing=True) for _ in range(self.repeats + 1)]
        marks[0].record()
        for mark in marks[1:]:
            for _ in range(self.inner):
                self.function(*arguments)
            mark.record()
        torch.npu.synchronize()
        self.us = [start.elapsed_time(end) / self.inner * 1e3 for start, end in zip(marks, marks[1:])]
        return self


def main():
    torch.manual_seed(5)
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        for rows, width, count in (4000, 64, 8192), (4000, 128, 8192), (8000, 256, 4096):
            table, ids = torch.randn(rows, width).npu(), torch.randint(0, rows, (count,)).npu()
            results = [function(table, ids).cpu() for function in CANDIDATES.values()]
            assert all(torch.equal(result, results[0]) for result in results)
            series = {name: Series(function, 20, 12).run(table, ids) for name, function in CANDIDATES.items()}
            medians = {name: statistics.median(s.us) for name, s in series.items()}
            print(f"table {rows} x {width} float32, {count} ids, L2 warm: " + "; ".join(
                f"{name} {medians[name]:.2f} us ({min(s.us):.2f} to {max(s.us):.2f})" for name, s in series.items()))
            print(f"    by_embedding takes {100 * (medians['by_embedding'] / medians['by_index_select'] - 1):+.1f} % time")


main()
