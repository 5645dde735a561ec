# ruff: noqa: E501  (programs that are short)
"""PyTorch programs with a known disease, recorded on the simulated device, and what the analyser says of them.

python scripts/recorded_trial.py [--first 1] [--seeds 3] [--healthy 15] [--write]: 14 diseases whose sizes a seed draws, and healthy
programs; each is recorded by torch_npu.profiler as on a node, and read. Unlike scripts/planted_programs.py, whose times are
those of a model in that file, these come out of the lab's device, recorder and writers. --write: data/recorded_traces.csv.
Times are modelled; what takes the device's clock is what the program does, so the diseases are limited to what the
simulated device has. Only planted, in scripts/planted_programs.py, are therefore: compiling for new shapes (its kernels
are all compiled beforehand), an allocator that takes time (no published time of aclrtMalloc to model it by), and a slow
link (its links are all alike). On the AI CPU run only the operators that kernel_names.toml has there: random numbers.
The clock charges them as work of the vector cores, so a drawing or two stays below what the analyser reports: that case
is missed where the seed draws few of them (seeds 3, 101, 102).
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
HEADS = ["case", "seed", "sizes", "wanted", "named", "first", "findings"]


def net(torch, width: int, layers: int):
    blocks = [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU()) for _ in range(layers)]
    return torch.nn.Sequential(*blocks).npu()


def train(torch, draw, width=None, rows=None, layers=None):
    """(step, what was drawn): a training step that keeps the device busy."""
    width, rows = width or draw.choice((768, 1024, 1280)), rows or draw.choice((512, 1024))
    layers = layers or draw.randint(2, 4)
    model = net(torch, width, layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(rows, width)
    there = inputs.npu()

    def step(batch=None, between=None, after=None):
        values = model(there if batch is None else batch)
        if between:
            values = between(values)
        loss = values.pow(2).mean()
        loss.backward()
        if after:
            after()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step, inputs, model, {"width": width, "rows": rows, "layers": layers}


def host_bound(torch, draw):
    step, _, _, sizes = train(
        torch, draw, width=draw.choice((32, 48, 64)), rows=draw.choice((16, 32)), layers=draw.randint(4, 10)
    )
    return (lambda i: step()), sizes


def sync_in_loop(torch, draw):
    step, _, model, sizes = train(torch, draw)
    times = draw.randint(3, 6)

    def body(i):
        step()
        for n, p in enumerate(model.parameters()):
            if n < times:
                p.grad_norm = p.sum().item()

    return body, sizes | {"items": times}


def blocking_copies(torch, draw):
    step, inputs, _, sizes = train(torch, draw, rows=1024)
    more = torch.randn(draw.randint(512, 2048), 1024)

    def body(i):
        more.npu()
        step(inputs.npu())

    return body, sizes | {"extra_rows": more.shape[0]}


def dtype_casts(torch, draw):
    step, _, _, sizes = train(torch, draw)
    times = draw.randint(6, 14)

    def between(values):
        for _ in range(times):
            values = values.half().float()
        return values

    return (lambda i: step(between=between)), sizes | {"casts": 2 * times}


def slow_steps(torch, draw):

    step, _, _, sizes = train(torch, draw)
    every, count = draw.randint(3, 4), draw.randint(60, 160)
    big = torch.randn(1024, 1024).npu()

    def body(i):
        step()
        if i % every == every - 1:  # an evaluation every so many steps
            for _ in range(count):
                big @ big

    return body, sizes | {"every": every, "matmuls": count}


def sync_every_step(torch, draw):
    step, _, _, sizes = train(torch, draw, width=draw.choice((256, 384)), rows=256, layers=2)

    def body(i):
        print(f"{step().item():.0f}", end="", file=open("/dev/null", "w"))
        torch.npu.synchronize()

    return body, sizes


def scalar_conditions(torch, draw):
    step, inputs, _, sizes = train(torch, draw, width=draw.choice((384, 512)), rows=512)
    value = inputs.npu()
    times = draw.randint(4, 8)

    def body(i):
        step()
        for _ in range(times):
            if (value.abs().max() > 1e9).item():
                raise ValueError

    return body, sizes | {"conditions": times}


def results_to_host(torch, draw):
    step, _, _, sizes = train(torch, draw)
    big = torch.randn(draw.randint(1024, 3072), 1024).npu()

    def body(i):
        step()
        big.cpu()

    return body, sizes | {"rows_back": big.shape[0]}


def many_small(torch, draw):
    step, inputs, _, sizes = train(torch, draw, width=256, rows=64, layers=2)
    parts, count = [torch.randn(64).npu() for _ in range(8)], draw.randint(60, 200)

    def body(i):
        step()
        for n in range(count):
            parts[n % 8].add_(1)

    return body, sizes | {"adds": count}


def attention_casts(torch, draw):
    step, inputs, _, sizes = train(torch, draw)
    there, times = inputs.npu(), draw.randint(8, 20)

    def body(i):
        step()
        for _ in range(times):
            there.half().float()

    return body, sizes | {"casts": 2 * times}


def noise_on_ai_cpu(torch, draw):
    """Random numbers are made by kernels of the AI CPU."""
    step, inputs, _, sizes = train(torch, draw)
    there, times = inputs.npu(), draw.randint(2, 6)

    def body(i):
        batch = there
        for _ in range(times):
            batch = batch + 0.01 * torch.empty_like(there).normal_()
        step(batch)

    return body, sizes | {"drawings": times}


def format_conversions(torch, draw):
    """Convolutions without what would keep their tensors in the cube's format."""
    channels, side, layers = draw.choice((32, 64)), draw.choice((28, 56)), draw.randint(2, 5)
    batch = draw.choice((8, 16))
    model = torch.nn.Sequential(*[torch.nn.Conv2d(channels, channels, 1) for _ in range(layers)]).npu()
    images = torch.randn(batch, channels, side, side).npu()

    def body(i):
        model(images).mean().backward()
        model.zero_grad()

    return body, {"channels": channels, "side": side, "layers": layers, "batch": batch}


def slow_rank(torch, draw):
    """One rank computes more before each sum of the gradients."""
    import torch.distributed as dist

    step, _, model, sizes = train(torch, draw)
    slow, more = draw.randint(0, RANKS - 1), draw.randint(4, 12)
    big = torch.randn(1024, 1024).npu()

    def body(i):
        if dist.get_rank() == slow:
            for _ in range(more):
                big @ big
        step(after=lambda: [dist.all_reduce(p.grad) for p in model.parameters()])

    return body, sizes | {"slow": slow, "matmuls": more}


def exposed_communication(torch, draw):
    """Large gradients, summed one by one when the way back is over."""
    import torch.distributed as dist

    step, _, model, sizes = train(torch, draw, width=draw.choice((1280, 1536)), rows=256)

    def body(i):
        step(after=lambda: [dist.all_reduce(p.grad) for p in model.parameters()])

    return body, sizes


FAMILIES = {
    "host_bound": (host_bound, "host-bound"), "many_small": (many_small, "host-bound"),
    "sync_in_loop": (sync_in_loop, "synchronisation"), "sync_every_step": (sync_every_step, "synchronisation"),
    "scalar_conditions": (scalar_conditions, "synchronisation"), "blocking_copies": (blocking_copies, "blocking-copy"),
    "results_to_host": (results_to_host, "blocking-copy"), "dtype_casts": (dtype_casts, "dtype-casts"),
    "attention_casts": (attention_casts, "dtype-casts"), "slow_steps": (slow_steps, "step-variance"),
    "noise_on_ai_cpu": (noise_on_ai_cpu, "ai-cpu"),
    "format_conversions": (format_conversions, "format-conversions"), "slow_rank": (slow_rank, "slow-rank"),
    "exposed_communication": (exposed_communication, "exposed-communication"),
}  # fmt: skip


def healthy(torch, draw):
    """Nothing wrong: the batch is on the device or comes in pinned and ahead; a scalar is fetched once, at the end."""
    kind = draw.choice(("train", "pinned", "infer", "last item"))
    step, inputs, model, sizes = train(torch, draw)
    pinned, side = inputs.pin_memory(), torch.npu.Stream()

    def body(i):
        if kind == "infer":
            with torch.no_grad():
                for _ in range(4):
                    model(inputs_there)
            return
        if kind == "pinned":
            with torch.npu.stream(side):
                pinned.to("npu", non_blocking=True)
        loss = step()
        if kind == "last item" and i == STEPS - 1:
            loss.item()

    inputs_there = inputs.npu()
    return body, sizes | {"kind": kind}


STEPS = 10
RANKS = 2
ON_RANKS = ("slow_rank", "exposed_communication")


def on_rank(rank: int, name: str, seed: int, folder: str) -> dict:
    """record() in a process of labkit.ranks."""
    import sys

    import torch

    sys.path.insert(0, str(REPO / "scripts"))
    import recorded_trial

    make = recorded_trial.FAMILIES[name][0]
    return recorded_trial.record(torch, make, name, seed, Path(folder), f"rank{rank}")


def record(torch, make, name: str, seed: int, folder: Path, worker: str | None = None):
    """Records the program into `folder` and returns what was drawn."""
    import torch_npu

    profiler = torch_npu.profiler
    torch.manual_seed(seed)
    body, sizes = make(torch, random.Random(f"{name}/{seed}"))
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=0, warmup=1, active=STEPS - 1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(folder), worker_name=worker), record_shapes=True, profile_memory=True,
        experimental_config=profiler._ExperimentalConfig(
            profiler_level=profiler.ProfilerLevel.Level1, export_type=[profiler.ExportType.Text]
        ),
    ) as prof:  # fmt: skip
        for i in range(STEPS):
            body(i)
            prof.step()
    torch.npu.synchronize()
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--first", type=int, default=1, help="The first seed: others than the table's are a blind trial."
    )
    parser.add_argument("--healthy", type=int, default=15)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", type=Path, help="Keep the recordings here; those that are there are read again.")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    import torch

    import labkit
    from labkit import device, trace

    device.install()
    cases = [
        (n, s, make, want)
        for n, (make, want) in FAMILIES.items()
        for s in range(given.first, given.first + given.seeds)
    ]
    cases += [("healthy", s, healthy, "") for s in range(given.first, given.first + given.healthy)]
    rows, scratch = [], given.keep or Path(tempfile.mkdtemp())
    for name, seed, make, wanted in cases:
        if given.only and name not in given.only:
            continue
        folder = scratch / f"{name}{seed}"
        note = folder / "sizes.txt"
        if not note.is_file():
            if name in ON_RANKS:
                sizes = labkit.ranks(RANKS, on_rank, name, seed, str(folder))[0]
            else:
                sizes = record(torch, make, name, seed, folder)
            note.write_text("; ".join(f"{k} {v}" for k, v in sizes.items()))
        found = trace.read(folder, progress=False).findings()
        codes = [f.code for f in found]
        named = wanted in codes if wanted else not codes
        rows.append(
            {
                "case": name, "seed": seed, "sizes": note.read_text(), "wanted": wanted or "nothing",
                "named": "yes" if named else "no", "first": "" if not wanted else "yes" if codes[:1] == [wanted] else "no",
                "findings": "; ".join(f"{f.code} {100 * f.share:.0f} %" for f in found),
            }
        )  # fmt: skip
        print(" | ".join(str(rows[-1][h]) for h in HEADS), flush=True)
    if not given.keep:
        shutil.rmtree(scratch)
    sick, well = [r for r in rows if r["wanted"] != "nothing"], [r for r in rows if r["wanted"] == "nothing"]
    print(f"named {sum(r['named'] == 'yes' for r in sick)} of {len(sick)}; healthy left alone {sum(r['named'] == 'yes' for r in well)} of {len(well)}")  # fmt: skip
    if given.write:
        with open(REPO / "data" / "recorded_traces.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, HEADS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
