"""What each step of a migration brings -> data/migrate_ablation.csv; published figures -> data/migrate_claims.csv.

    python scripts/migrate_ablation.py [--write]        # about 3 minutes on one core

One training step (forward, backward, unscale, clip, AdamW) of a model with the widths of InternVL3-1B and half of its
depth (transformers' defaults of the vision tower, Qwen2-0.5B, 12 layers each: all 24 in fp32 want more memory than
this machine lets the simulated device have), 4 images of 448 x 448 and 77 words each, by shapes alone on the simulated
910B1: times are MODELLED, nothing is computed, and no weight is real. Each row keeps what the rows before it brought:

    fp32          attention as transformers' `eager` has it
    mixed         fp16 but for the norms, fp32 master weights, a loss scale
    operators     attention, RMS norm, SwiGLU and rotary embedding are one kernel each, torch_npu's (forward and
                  backward; the lab's own run on the twin, which takes too long at this size)
    memory        activation checkpointing of every layer; the same batch
    batch         as many images as the fp32 row's memory holds then
    pipeline      the same batch over two cards, in parts of 4 images, 1F1B; cut behind the vision tower or one of the
                  language model's first layers, where it is fastest. Each card's passes are modelled on a card of its
                  own and put together by labkit.migrate.parallel.makespan

tokens_s: tokens of the language model (256 of the image and 77) a modelled second. peak_gb: of the device's memory, in
2 ** 30 bytes. kept: what the small model (labkit.migrate.model) keeps of the fp32 VQA accuracy: for `mixed` by
data/migrate_training.csv; for the operators a run of seed 0; checkpointing computes the same, which is asserted: the
same losses to the last bit. Energy is left out: no figure here could stand for it. The host's one read in a step is
left out too.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from contextlib import contextmanager

import torch

import labkit  # noqa: F401  (the device)
from labkit import chips, device
from labkit.migrate import evaluation, model, parallel, precision, scenes, training
from labkit.paths import data_dir

WORDS, IMAGE_TOKENS, IMAGES, LAYERS = 77, 256, 4, 12
GB = 2**30


class Large(torch.nn.Module):
    """Widths of InternVL3-1B. Image tokens stand before the words, so that no operator's shape hangs on values.
    layers: those of the language model that are there; the first stage of a pipeline has the vision tower too, the last
    one the head."""

    def __init__(self, attention: str, layers: slice = slice(None)):
        import transformers as hf

        super().__init__()
        text = hf.Qwen2Config(
            vocab_size=151_674, hidden_size=896, intermediate_size=4864, num_hidden_layers=LAYERS,
            num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True, use_cache=False,
        )  # fmt: skip
        config = hf.InternVLConfig(text_config=text, vision_config=hf.InternVLVisionConfig(num_hidden_layers=LAYERS))
        config._attn_implementation = attention
        with torch.device("meta"):
            self.net = hf.InternVLForConditionalGeneration(config)
        self.eager, self.first, self.last = attention == "eager", layers.start is None, layers.stop is None
        inner, whole = self.net.model, self.first and self.last
        inner.language_model.layers = inner.language_model.layers[layers]
        if not whole:
            self.net.lm_head.weight = torch.nn.Parameter(self.net.lm_head.weight.detach().clone())  # no longer tied
            config.text_config.tie_word_embeddings = self.net.config.tie_word_embeddings = False
        if not self.first:
            inner.vision_tower = inner.multi_modal_projector = inner.language_model.embed_tokens = torch.nn.Identity()
        if not self.last:
            inner.language_model.norm = self.net.lm_head = torch.nn.Identity()

    def forward(self, ids: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        """given: pixels, or what the stage before gave. The loss, or what the next stage takes."""
        inner = self.net.model
        if self.first:
            seen = inner.get_image_features(given).pooler_output
            given = torch.cat([seen, inner.get_input_embeddings()(ids).to(seen.dtype)], dim=1)
        n = given.shape[1]
        mask = torch.empty(1, 1, n, n, dtype=given.dtype, device=given.device) if self.eager else None
        out = inner.language_model(inputs_embeds=given, attention_mask={"full_attention": mask}).last_hidden_state
        if not self.last:
            return out
        logits = self.net.lm_head(out[:, IMAGE_TOKENS - 1 : -1])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten())


@contextmanager
def operators():
    """Qwen2's RMS norm, gated MLP and rotary embedding by torch_npu's kernels, while the block lasts."""
    import torch_npu
    from transformers.models.qwen2 import modeling_qwen2 as qwen

    def norm(self, x):
        return torch_npu.npu_rms_norm(x, self.weight.to(x.dtype), self.variance_epsilon)[0]

    def mlp(self, x):
        return self.down_proj(torch_npu.npu_swiglu(torch.cat([self.gate_proj(x), self.up_proj(x)], dim=-1), dim=-1))

    def rotary(q, k, cos, sin, unsqueeze_dim=1):
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
        return torch_npu.npu_rotary_mul(q, cos, sin), torch_npu.npu_rotary_mul(k, cos, sin)

    before = qwen.Qwen2RMSNorm.forward, qwen.Qwen2MLP.forward, qwen.apply_rotary_pos_emb
    qwen.Qwen2RMSNorm.forward, qwen.Qwen2MLP.forward, qwen.apply_rotary_pos_emb = norm, mlp, rotary
    try:
        yield
    finally:
        qwen.Qwen2RMSNorm.forward, qwen.Qwen2MLP.forward, qwen.apply_rotary_pos_emb = before


def modelled(attention: str, policy: precision.Policy | None, checkpoint: bool, images: int) -> tuple[float, float]:
    """(tokens a modelled second, peak in GB) of the second of two steps."""
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    with device.shapes_only():
        large = Large(attention).to_empty(device="npu").train()
        large.net.tie_weights()
        if checkpoint:
            large.net.gradient_checkpointing_enable({"use_reentrant": False})
        masters = precision.Masters(large, policy)
        scale = precision.LossScale("npu", enabled=policy is not None)
        optimizer = torch.optim.AdamW(masters.parameters, fused=True)
        ids = torch.empty(images, WORDS, dtype=torch.long, device="npu")
        pixels = torch.empty(images, 3, 448, 448, device="npu")
        for _ in range(2):
            torch.npu.synchronize()
            began = device.clock().host_us
            scale.of(large(ids, pixels)).backward()
            scale.unscale(masters.gather())
            torch.nn.utils.clip_grad_norm_(masters.parameters, 1.0, foreach=True)
            optimizer.step()
            masters.publish()
            optimizer.zero_grad()
            torch.npu.synchronize()
            us = device.clock().host_us - began
        peak = torch.npu.max_memory_allocated() / GB
    return images * (WORDS + IMAGE_TOKENS) / us * 1e6, peak


def stage(layers: slice, policy: precision.Policy, parts: int) -> tuple[parallel.Step, float]:
    """One of two stages in the second of two steps, by shapes alone: its passes in the order of 1F1B with their
    modelled us, its peak in bytes; and the us of its optimizer's step."""
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    with device.shapes_only():
        large = Large("sdpa", layers).to_empty(device="npu").train()
        large.net.gradient_checkpointing_enable({"use_reentrant": False})
        masters = precision.Masters(large, policy)
        scale = precision.LossScale("npu")
        optimizer = torch.optim.AdamW(masters.parameters, fused=True)
        ids = torch.empty(IMAGES, WORDS, dtype=torch.long, device="npu")
        pixels = torch.empty(IMAGES, 3, 448, 448, device="npu")
        between = torch.empty(IMAGES, IMAGE_TOKENS + WORDS, 896, dtype=torch.half, device="npu")

        def timed(run, *args):
            torch.npu.synchronize()
            began = device.clock().host_us
            out = run(*args)
            torch.npu.synchronize()
            return out, device.clock().host_us - began

        def update():
            scale.unscale(masters.gather())
            torch.nn.utils.clip_grad_norm_(masters.parameters, 1.0, foreach=True)
            optimizer.step()
            masters.publish()
            optimizer.zero_grad()

        def forward(part: int):
            given = pixels if large.first else between.detach().requires_grad_()
            waiting[part], us = timed(large, ids, given)
            actions.append(("F", part, us))

        def backward(part: int):
            out = waiting.pop(part)
            actions.append(("B", part, timed(scale.of(out).backward if large.last else out.backward,
                                             *([] if large.last else [between]))[1]))  # fmt: skip

        for _ in range(2):
            waiting: dict[int, torch.Tensor] = {}
            actions: list[tuple[str, int, float]] = []
            ahead = 0 if large.last else 1  # parts that the first stage has begun before the first comes back
            for part in range(parts + ahead):
                if part < parts:
                    forward(part)
                if part >= ahead:
                    backward(part - ahead)
            _, us = timed(update)
        peak = torch.npu.max_memory_allocated()
    return parallel.Step(math.nan, {}, peak, tuple(actions)), us


def pipeline(policy: precision.Policy, images: int) -> tuple[float, float]:
    """(tokens a modelled second of two cards, the larger peak in GB) at the best cut."""
    flat, found = chips.flat(chips.DEFAULT), []
    transfer = 1e6 * (flat["links.latency"] + IMAGES * (WORDS + IMAGE_TOKENS) * 896 * 2 / flat["links.peer"])
    for cut in (0, 2, 4):
        (one, first_us), (two, last_us) = (
            stage(layers, policy, images // IMAGES) for layers in (slice(None, cut), slice(cut, None))
        )
        us = parallel.makespan([one, two], transfer)[0] + max(first_us, last_us)
        found.append((images * (WORDS + IMAGE_TOKENS) / us * 1e6, max(one.peak, two.peak) / GB, cut))
    rate, peak, cut = max(found)
    print(f"pipeline: cut behind layer {cut} of {LAYERS}", flush=True)
    return rate, peak


def small_losses(checkpoint: bool) -> list[float]:
    net = model.small(0).npu()
    if checkpoint:
        net.gradient_checkpointing_enable({"use_reentrant": False})
    run = training.train(net, scenes.draw(64, seed=0), 4, policy=precision.Policy(), batch=8)
    return run.losses


def small_accuracy(steps: int) -> float:
    """VQA accuracy of the small model with the operators, seed 0, as scripts/migrate_training.py trains it."""
    net = model.small(0).npu()
    scale = precision.LossScale("npu", interval=100)
    with operators():
        training.train(net, scenes.draw(4000, seed=0), steps, policy=precision.Policy(), scale=scale, rate=5e-3)
        return evaluation.evaluate(net, scenes.draw(200, seed=99, held_out=True))["vqa"].value


SOURCE = "issue 17 of this project (the issue names no publisher)"
SIZES = (2.5, 5.1)  # billions of weights: the claim says 2.5, 5.1, and 3.2 + 1.8


def claims() -> list[list]:
    """The published table by arithmetic alone: id, claim, published, unit, source, arithmetic, bound, bound_unit,
    verdict, as in data/claims.csv. Bounds favour the claim: no activations, no temporaries, GB as 10 ** 9."""
    low, high = SIZES[0], SIZES[-1]
    two = "5.1 / 2.5 = 2.04: one of them is another model, or counts something else"
    rows = [
        ["size-1", "weights of one model: 3.2 + 1.8 beside 5.1", 5.1, "billion", "3.2 + 1.8 = 5.0", 5.0, "billion"],
        ["size-2", "weights of one model: 2.5 beside 5.1", 2.5, "billion", two, 5.1, "billion"],
    ]
    rows = [[*row, "contradicts"] for row in rows]
    eight = "fp16 weights and gradients, fp32 masters, Adam's two states: 2 + 2 + 4 + 8 bytes"
    for size in (low, high):
        need = round(16 * size, 1)
        for kind, most, parts in (
            ("fp32", 48, "weights, gradients and Adam's two states, 4 bytes each"),
            ("mixed", 20, f"{eight}; shards, stages of a pipeline or an 8-bit optimizer would take less"),
        ):
            claim = f"{kind} training of {size} billion weights, if by Adam on one card"
            verdict = "possible" if need <= most else "impossible"
            rows.append([f"memory-{kind}-{size}", claim, most, "GB", f"16 x {size}: {parts}", need, "GB", verdict])
    for name, rate in (("before", 1250), ("after", 4200)):
        flops = f"6 operations a weight and token: {6 * low * rate / 1e3:.0f} to {6 * high * rate / 1e3:.0f} TFLOP/s"
        missing = "batch, lengths, number of cards and what counts as a token are not said"
        rows.append(
            [f"tokens-{name}", f"tokens/s {name}", rate, "tokens/s", f"{flops}; {missing}", "", "", "undecided"]
        )
    why = (
        "measure, samples and seeds are not said; of 10,000 answers, half of them right, the 95 % interval is +-1 point"
    )
    rows.append(["accuracy", "99.5 % of the accuracy kept", 99.5, "%", why, "", "", "undecided"])
    why = "the issue says so; without its name its rate bounds nothing, and no figure of ours (910B1) is comparable"
    rows.append(["card", "trained on a card made for inference", "", "", why, "", "", "undecided"])
    return [[*row[:4], SOURCE, *row[4:]] for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="data/migrate_ablation.csv")
    parser.add_argument("--steps", type=int, default=600, help="of the small model with the operators; 0: leave it out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with (data_dir() / "migrate_training.csv").open(encoding="utf-8") as file:
        vqa = {(r["kind"], r["seed"]): float(r["value"]) for r in csv.DictReader(file) if r["metric"] == "vqa"}
    mixed = precision.Policy()
    rows = [["fp32", IMAGES, *modelled("eager", None, False, IMAGES), 1.0]]
    rows.append(["mixed", IMAGES, *modelled("eager", mixed, False, IMAGES), vqa["mixed", "all"] / vqa["fp32", "all"]])
    print(rows, flush=True)
    kept = small_accuracy(options.steps) / vqa["fp32", "0"] if options.steps else math.nan
    with operators():
        rows.append(["operators", IMAGES, *modelled("sdpa", mixed, False, IMAGES), kept])
        rows.append(["memory", IMAGES, *modelled("sdpa", mixed, True, IMAGES), kept])
        assert small_losses(True) == small_losses(False)
        images = IMAGES
        while (more := modelled("sdpa", mixed, True, 2 * images))[1] <= rows[0][3]:
            images *= 2
            best = more
        rows += [["batch", images, *best, kept]] if images > IMAGES else []
        rows.append(["pipeline", images, *pipeline(mixed, images), kept])
    for name, count, rate, peak, share in rows:
        print(f"{name:10} {count:3} images  {rate:9.0f} tokens/s modelled  {peak:6.2f} GB  {share:.3f} kept")
    if options.write:
        with (data_dir() / "migrate_ablation.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow("step images tokens_s peak_gb kept".split())
            for name, count, rate, peak, share in rows:
                writer.writerow([name, count, f"{rate:.0f}", f"{peak:.2f}", f"{share:.3f}" if share == share else ""])
        with (data_dir() / "migrate_claims.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow("id claim published unit source arithmetic bound bound_unit verdict".split())
            writer.writerows(claims())
    return 0


if __name__ == "__main__":
    sys.exit(main())
