"""The small vision-language model on several cards: its layers in a row (pipeline), its batch in parts (data), and the
experts of a layer apart (experts). Each function runs on every rank of a process group and gives what one step left.

    runs = labkit.ranks(2, labkit.migrate.parallel.pipeline)      # from a notebook, on simulated cards
    torchrun --nproc-per-node 4 -m labkit.migrate.parallel experts   # the same on a node

One step's loss and gradients are those of one process, up to the order of sums. Times are modelled on simulated cards.
"""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from labkit import chips, device
from labkit.messages import text
from labkit.migrate import model as models
from labkit.migrate import scenes

LAYERS = 4  # of the language model: as many as the largest pipeline has stages
ROWS = 16


@dataclass(frozen=True)
class Step:
    """One step on one rank. loss: of the whole batch, NaN where a rank does not know it. gradients: of the weights that
    this rank holds, on the CPU. peak: bytes, the most that were allocated on the device at one time. actions: of a
    pipeline's stage, in order: ("F" or "B", part of the batch, modelled us)."""

    loss: float
    gradients: dict[str, torch.Tensor]
    peak: int
    actions: tuple[tuple[str, int, float], ...] = ()


def the_model(seed: int = 0) -> nn.Module:
    """On the CPU; the head has weights of its own (tied ones would lie on two stages of a pipeline)."""
    made = models.small(seed, layers=LAYERS)
    made.lm_head.weight = nn.Parameter(made.lm_head.weight.detach().clone())
    made.config.tie_word_embeddings = False
    return made


def _fresh() -> int:
    """Nothing of an earlier step is left on the device; bytes that others hold there. The peak counts from here."""
    gc.collect()
    torch.npu.reset_peak_memory_stats()
    return torch.npu.memory_allocated()


def the_batch(rows: int = ROWS, seed: int = 0) -> dict[str, torch.Tensor]:
    return scenes.batch(scenes.draw(rows, seed=seed))


def summed_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The sum over all words that have a label; a mean is made of it once the words of the whole batch are counted."""
    return F.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=scenes.IGNORED, reduction="sum"
    )


def words(labels: torch.Tensor) -> int:
    return int((labels[:, 1:] != scenes.IGNORED).sum())


def single(rows: int = ROWS, micro: int = 1, checkpoint: bool = False) -> Step:
    """One step on one card. micro: parts of the batch, one after the other, their gradients added up (gradient
    accumulation). checkpoint: each layer keeps its input alone and is computed again in the backward pass.
    Raises ValueError where micro does not divide rows."""
    if micro < 1 or rows % micro:
        raise ValueError(text("migrate.parts", rows=rows, parts=micro))
    batch = the_batch(rows)
    before = _fresh()
    ours = the_model().npu()
    if checkpoint:
        enable = getattr(ours, "activation_checkpointing_enable", None) or ours.gradient_checkpointing_enable
        enable()
    count, total = words(batch["labels"]), 0.0
    for at in range(0, rows, rows // micro):
        part = {k: v[at : at + rows // micro].npu() for k, v in batch.items()}
        labels = part.pop("labels")
        loss = summed_loss(ours(**part).logits, labels) / count
        loss.backward()
        total += loss.item()
        del loss, labels, part
    return _step(total, before, ours)


def _step(loss: float, before: int, *parts: nn.Module) -> Step:
    gradients = {n: p.grad.cpu() for part in parts for n, p in part.named_parameters() if p.grad is not None}
    return Step(loss, gradients, torch.npu.max_memory_allocated() - before)


# ---- the batch in parts


def data(rank: int, rows: int = ROWS) -> Step:
    """DistributedDataParallel: each rank has all weights and its part of the rows."""
    from torch.nn.parallel import DistributedDataParallel

    ranks = dist.get_world_size()
    if rows % ranks:
        raise ValueError(text("migrate.parts", rows=rows, parts=ranks))
    batch = the_batch(rows)
    count = words(batch["labels"])
    before = _fresh()
    mine = {k: v[rank * rows // ranks : (rank + 1) * rows // ranks].npu() for k, v in batch.items()}
    labels = mine.pop("labels")
    ours = the_model().npu()
    joined = DistributedDataParallel(ours)
    loss = summed_loss(joined(**mine).logits, labels) * ranks / count  # DDP takes the mean over ranks
    loss.backward()
    whole = loss.detach() / ranks
    dist.all_reduce(whole)
    return _step(whole.item(), before, ours)


# ---- layers in a row


class Stage(nn.Module):
    """Part of the model: its share of the language model's layers, the first with all that stands before them, the last
    with the head. Takes (input_ids, pixel_values) or hidden states, gives hidden states or logits. The names of its
    weights are those of the whole model."""

    def __init__(self, whole: nn.Module, index: int, stages: int):
        super().__init__()
        language = whole.model.language_model
        each = len(language.layers) // stages
        self.index, self.last, self.begin = index, index == stages - 1, index * each
        self.layers = nn.ModuleList(
            language.layers[self.begin : len(language.layers) if self.last else self.begin + each]
        )
        self.rotary = language.rotary_emb
        self.before = whole.model if index == 0 else None
        self.norm, self.head = (language.norm, whole.lm_head) if self.last else (None, None)
        if index == 0:
            language.layers, language.norm = nn.ModuleList(), nn.Identity()

    def forward(self, first: torch.Tensor, pixels: torch.Tensor | None = None) -> torch.Tensor:
        hidden = self._begin(first, pixels) if self.before is not None else first
        at = torch.arange(hidden.shape[1], device=hidden.device)[None]
        turned = self.rotary(hidden, at)
        for layer in self.layers:
            hidden = layer(hidden, attention_mask=None, position_ids=at, position_embeddings=turned)
        return self.head(self.norm(hidden)) if self.last else hidden

    def _begin(self, ids, pixels):
        words = self.before.get_input_embeddings()(ids)
        seen = self.before.get_image_features(pixel_values=pixels)
        seen = getattr(seen, "pooler_output", seen)
        return words.masked_scatter((ids == scenes.IMAGE)[..., None].expand_as(words), seen.to(words.dtype))

    def whole_name(self, name: str) -> str:
        kind, _, rest = name.partition(".")
        number, _, inner = rest.partition(".")
        return {
            "layers": f"model.language_model.layers.{self.begin + int(number) if number.isdigit() else 0}.{inner}",
            "before": f"model.{rest}",
            "norm": f"model.language_model.norm.{rest}",
            "head": f"lm_head.{rest}",
        }[kind]


def pipeline(rank: int, rows: int = ROWS, micro: int = 4, schedule: str = "1F1B") -> Step:
    """torch.distributed.pipelining: a stage on each rank, `micro` parts of the batch on their way at a time.
    schedule: "1F1B", or "GPipe" (all forward passes first). Raises ValueError for rows that micro does not divide or
    more ranks than layers."""
    from torch.distributed import pipelining

    ranks = dist.get_world_size()
    if rows % micro or ranks > LAYERS:
        raise ValueError(text("migrate.parts", rows=rows, parts=micro))
    batch = the_batch(rows)
    count = words(batch["labels"])
    part = {k: v[: rows // micro] for k, v in batch.items()}
    before = _fresh()
    whole = the_model()
    width = whole.config.text_config.hidden_size
    stage = Stage(whole, rank, ranks).npu()
    place = torch.device("npu", torch.npu.current_device())
    hidden = torch.zeros(rows // micro, scenes.LENGTH, width, device=place, requires_grad=True)
    given = (part["input_ids"].npu(), part["pixel_values"].npu()) if rank == 0 else (hidden,)
    out = torch.zeros(*hidden.shape[:2], len(scenes.WORDS), device=place, requires_grad=True) if stage.last else hidden
    made = pipelining.PipelineStage(stage, rank, ranks, place, input_args=given, output_args=(out,))
    kind = {"1F1B": pipelining.Schedule1F1B, "GPipe": pipelining.ScheduleGPipe}[schedule]
    plan = kind(made, micro, loss_fn=lambda out, y: summed_loss(out, y) / count, scale_grads=False)
    losses: list[torch.Tensor] = []
    actions = _timed(made)
    if rank == 0:
        first = plan.step(batch["input_ids"].npu(), batch["pixel_values"].npu(),
                          **({"target": batch["labels"].npu(), "losses": losses} if stage.last else {}))  # fmt: skip
    elif stage.last:
        first = plan.step(target=batch["labels"].npu(), losses=losses)
    else:
        first = plan.step()
    del first
    done = _step(sum(loss.item() for loss in losses) if losses else float("nan"), before, stage)
    return Step(done.loss, {stage.whole_name(n): g for n, g in done.gradients.items()}, done.peak, tuple(actions))


def _timed(stage) -> list[tuple[str, int, float]]:
    """Notes each forward and backward pass of the stage with its time on the rank's own virtual clock."""
    noted: list[tuple[str, int, float]] = []
    if device.mode() != "sim":
        return noted

    def timed(inner, kind):
        def run(chunk, *args, **kwargs):
            torch.npu.synchronize()
            begin = device.clock().host_us
            out = inner(chunk, *args, **kwargs)
            torch.npu.synchronize()
            noted.append((kind, chunk, device.clock().host_us - begin))
            return out

        return run

    stage.forward_one_chunk = timed(stage.forward_one_chunk, "F")
    stage.backward_one_chunk = timed(stage.backward_one_chunk, "B")
    return noted


def timeline(stages: list[Step], transfer_us: float | None = None) -> dict[str, list[device.Span]]:
    """ "stage 0" and so on -> its actions ("F0", "B0", ...) as modelled spans, for labkit.figures.stream_timeline.

    The simulated ranks' clocks do not meet in send and recv; so the step is assembled here: an action begins when its
    stage is free and what it needs has arrived, `transfer_us` after its neighbour made it (default: the link's latency
    and a part of the batch at the link's rate). Raises ValueError for actions that wait for each other.
    """
    if transfer_us is None:
        flat = chips.flat(chips.DEFAULT)
        transfer_us = 1e6 * (flat["links.latency"] + ROWS // 4 * scenes.LENGTH * 64 * 4 / flat["links.peer"])
    last, ends, at = len(stages) - 1, {}, [0] * len(stages)
    free = [0.0] * len(stages)
    lanes: dict[str, list[device.Span]] = {f"stage {s}": [] for s in range(len(stages))}
    while any(i < len(stage.actions) for i, stage in zip(at, stages)):
        moved = False
        for s, stage in enumerate(stages):
            while at[s] < len(stage.actions):
                kind, part, us = stage.actions[at[s]]
                needs = (kind, s - 1 if kind == "F" else s + 1, part) if s != (0 if kind == "F" else last) else None
                if needs and needs not in ends:
                    break
                begin = max(free[s], ends[needs] + transfer_us if needs else 0.0)
                free[s] = ends[kind, s, part] = begin + us
                lanes[f"stage {s}"].append(_span(f"{kind}{part}", begin, free[s]))
                at[s], moved = at[s] + 1, True
        if not moved:
            raise ValueError(text("migrate.stuck"))
    return lanes


def _span(name: str, begin: float, end: float) -> device.Span:
    return device.Span(name, 0, 0, begin, end, begin, "cube" if name[0] == "F" else "vector", 0.0, 0.0)


def makespan(stages: list[Step], transfer_us: float | None = None) -> tuple[float, list[float]]:
    """(modelled us from the first action to the last, share of it in which each stage has nothing to do)."""
    lanes = timeline(stages, transfer_us)
    whole = max(span.end_us for lane in lanes.values() for span in lane)
    return whole, [1 - sum(us for *_, us in stage.actions) / whole for stage in stages]


# ---- experts apart


class Experts(nn.Module):
    """A layer of `count` experts (two products and a GELU each), of which a router chooses one for each row and
    multiplies its result by the router's probability. Input and output (rows, width).

    With a process group each rank holds count / ranks of them and rows travel to their expert and back by two
    all-to-alls; without one all are here."""

    def __init__(self, width: int = 64, inner: int = 128, count: int = 4, seed: int = 0, apart: bool = False):
        super().__init__()
        self.count, self.ranks = count, dist.get_world_size() if apart else 1
        if count % self.ranks:
            raise ValueError(text("migrate.experts", count=count, ranks=self.ranks))
        first = (dist.get_rank() if apart else 0) * (count // self.ranks)
        draw = torch.Generator().manual_seed(seed)
        self.router = nn.Parameter(torch.randn(width, count, generator=draw) / width**0.5)
        up = torch.randn(count, width, inner, generator=draw) / width**0.5
        down = torch.randn(count, inner, width, generator=draw) / inner**0.5
        mine = slice(first, first + count // self.ranks)
        self.up, self.down = nn.Parameter(up[mine].clone()), nn.Parameter(down[mine].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the chosen experts make of x; rows keep their order."""
        chance, chosen = (x @ self.router).softmax(-1).max(-1)
        order = chosen.argsort(stable=True)
        sent = torch.bincount(chosen, minlength=self.count)  # rows for each expert, all of them
        if self.ranks == 1:
            out = self._compute(x[order], sent)
        else:
            coming = torch.empty_like(sent)
            dist.all_to_all_single(coming, sent)
            coming = coming.view(self.ranks, -1)  # from each rank, for each expert here
            here, there = coming.sum(1).tolist(), sent.view(self.ranks, -1).sum(1).tolist()  # the host waits for both
            arrived = _Exchange.apply(x[order], here, there)
            # by expert, not by sender: rows of one expert lie together
            expert = (
                torch.arange(coming.shape[1], device=x.device).repeat(self.ranks).repeat_interleave(coming.flatten())
            )
            group = expert.argsort(stable=True)
            done = self._compute(arrived[group], coming.sum(0))
            out = _Exchange.apply(done[group.argsort()], there, here)
        return out[order.argsort()] * chance[:, None]

    def _compute(self, rows: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
        parts = rows.split(each.tolist())
        return torch.cat([F.gelu(part @ up) @ down for part, up, down in zip(parts, self.up, self.down)])


class _Exchange(torch.autograd.Function):
    """Rows to the other ranks: `sent` of them to each, `coming` from each. Backward goes the other way."""

    @staticmethod
    def forward(ctx, rows, coming, sent):
        ctx.sizes = (sent, coming)
        out = rows.new_empty(sum(coming), *rows.shape[1:])
        dist.all_to_all_single(out, rows.contiguous(), coming, sent)
        return out

    @staticmethod
    def backward(ctx, grad):
        return _Exchange.apply(grad, *ctx.sizes), None, None


def expert_rows(rows: int, width: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """(input, what is wanted of it), eighths."""
    draw = torch.Generator().manual_seed(1)
    return tuple(torch.randint(-16, 17, (rows, width), generator=draw) / 8 for _ in range(2))


def experts(rank: int, rows: int = 256, count: int = 4) -> Step:
    """One step of a layer of experts, an equal share of them and of the rows on each rank. rank -1: all on one card."""
    apart = rank >= 0
    ranks = dist.get_world_size() if apart else 1
    if rows % ranks:
        raise ValueError(text("migrate.parts", rows=rows, parts=ranks))
    before = _fresh()
    layer = Experts(count=count, apart=apart).npu()
    mine = slice(max(rank, 0) * rows // ranks, (max(rank, 0) + 1) * rows // ranks)
    x, wanted = (t[mine].npu() for t in expert_rows(rows))
    loss = (layer(x) - wanted).square().sum() / wanted.shape[1] / rows
    loss.backward()
    whole = loss.detach().clone()
    if apart:  # the router is on every rank, its gradient the sum over the rows of all; an expert has seen all its rows
        dist.all_reduce(whole)
        dist.all_reduce(layer.router.grad)
    return _step(whole.item(), before, layer)


WAYS = {"data": data, "pipeline": pipeline, "experts": experts}


def main() -> None:
    """torchrun's ranks: one step, one line each."""
    if len(sys.argv) != 2 or sys.argv[1] not in WAYS:
        raise SystemExit(
            f"python -m torch.distributed.run --nproc-per-node 2 -m labkit.migrate.parallel {'|'.join(WAYS)}"
        )
    rank = int(os.environ["RANK"])
    if device.install() == "npu":
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    done = WAYS[sys.argv[1]](rank)
    size = sum(float(g.double().square().sum()) for g in done.gradients.values()) ** 0.5
    # One write with its end: the ranks of torchrun share a pipe, and an unbuffered print() writes the end apart.
    sys.stdout.write(f"rank {rank}: loss {done.loss:.4f}, gradient {size:.4f}, peak {done.peak:,} bytes\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
