"""PyTorch's own samples of its operators (op_db) in fp32 through torch.compile's default backend on the simulated npu.

    python scripts/inductor_opinfo.py [--write] [--all] [--part 3] [--samples 2] [name ...]

--write: data/inductor_opinfo.csv.

The rule: of the operators that take float32 on the CPU, one in PART drawn by random.Random(19) (--all: every one), all
counted. Of each the first SAMPLES samples (2), compiled and compared with eager on npu: numbers within 1e-4, shapes and
types; of the first one the gradients of the results' sum too. Operators whose values are random are compared in shape
and type. An operator is
    kernels   right, all of it by Triton kernels, views and ATen's own extern kernels
    part      right, some nodes stayed ATen after labkit.triton refused a kernel (the note names them)
    graph     right, a whole graph ran operator by operator
    refused   an error that says what is not there
    eager     eager has no answer either: nothing to compare
    wrong     other numbers, or an error of another kind
"""

from __future__ import annotations

import argparse
import csv
import random
import signal
import sys
import warnings
from itertools import islice
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path += [str(REPO / "tests" / "support"), str(REPO / "tests" / "device")]

import test_opinfo as samples  # noqa: E402
import torch  # noqa: E402

from labkit.triton import driver, inductor  # noqa: E402

SECONDS = 300  # for one operator


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong(f"more than {SECONDS} s")


def operators(part: int) -> list:
    known = [op for op in samples.op_db if op.supports_dtype(torch.float32, "cpu")]
    return known if part == 1 else random.Random(19).sample(known, len(known) // part)


def gradients(made, given) -> list:
    leaves = [t for t in samples.tensors(given) if t.requires_grad and t.is_leaf]
    roots = [t.sum() for t in samples.tensors(made) if t.requires_grad and t.is_floating_point()]
    return list(torch.autograd.grad(roots, leaves, allow_unused=True)) if roots and leaves else []


def same(got, want, values: bool) -> str:
    ours, theirs = samples.tensors(got), samples.tensors(want)
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors for {len(theirs)}"
    for a, b in zip(ours, theirs):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{tuple(a.shape)} {a.dtype} for {tuple(b.shape)} {b.dtype}"
        if values and b.layout == torch.strided:
            try:
                torch.testing.assert_close(a.detach().cpu(), b.detach().cpu(), rtol=1e-4, atol=1e-4, equal_nan=True)
            except AssertionError as error:
                return " ".join(str(error).split())[:120]
    return ""


def outcome(op, count: int) -> tuple[str, str]:
    """(one of the words above, a note)."""
    values, word, first = op.name not in samples.RANDOM, "eager", len(inductor.fallen)
    wants_grad = op.supports_autograd
    for i, sample in enumerate(islice(op.sample_inputs("cpu", torch.float32, requires_grad=wants_grad), count)):
        given = samples.there((sample.input, sample.args, sample.kwargs), op.name in samples.STAYS)
        if "device" in given[2]:
            given[2]["device"] = "npu"
        with_grad = wants_grad and i == 0

        def call(x, args, kwargs):
            return op.op(x, *args, **kwargs)

        try:
            torch.manual_seed(1)
            want = call(*given)
            slopes = gradients(want, given) if with_grad else []
        except TooLong:
            raise
        except Exception:
            continue
        torch._dynamo.reset()
        try:
            torch.manual_seed(1)
            got = torch.compile(call)(*given)
            ours = gradients(got, given) if with_grad else []
        except TooLong:
            raise
        except Exception as error:
            text = " ".join(str(error).split())
            said = "is not there on the simulated npu" in text or "NotImplementedError" in type(error).__name__
            return ("refused" if said else "wrong"), f"{type(error).__name__}: {text[:140]}"
        if fault := same(got, want, values) or same(ours, slopes, values):
            return "wrong", fault
        word = "kernels"
    fell = inductor.fallen[first:]
    if any(names[0] == "graph" for names in fell):
        return "graph", next(names[1] for names in fell if names[0] == "graph")[:140]
    if fell:
        return "part", " ".join(sorted({n for names in fell for n in names}))
    return word, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", type=int, default=3)
    parser.add_argument("--skip", type=int, default=0, help="of the draw, done before")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    chosen = operators(1 if args.all or args.names else args.part)
    chosen = chosen[args.skip :]
    if args.names:
        chosen = [op for op in chosen if op.formatted_name in args.names]
    rows = []
    for op in chosen:
        signal.alarm(SECONDS)
        try:
            with driver.recording() as launched:
                word, note = outcome(op, args.samples)
        except TooLong as error:
            word, note = "refused", str(error)
        finally:
            signal.alarm(0)
        rows.append({"operator": op.formatted_name, "outcome": word, "note": note})
        print(*rows[-1].values(), len(launched), sep="  ", flush=True)
    count = {word: sum(r["outcome"] == word for r in rows) for word in "kernels part graph refused eager wrong".split()}
    print(f"{len(rows)} operators: {count}")
    if args.write:
        with open(REPO / "data" / "inductor_opinfo.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda r: r["operator"]))
    sys.exit(count["wrong"] > 0)


if __name__ == "__main__":
    main()
