"""The decoder that is served: transformers' LLaMA with small random weights, and attention that reads a paged cache.

The attention is a function of ours in transformers' registry; what it needs of the step (where keys are written, which
pages hold those of each row) comes with the call. Rows are computed together: queries [rows, heads, width, depth].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

import labkit

NAME = "labkit_paged"
VOCABULARY = 512  # bytes, a few marks, and room
FEATURE_ROWS, FEATURE_WIDTH = 2880, 1024  # five tiles of 576 patches by CLIP ViT-L/14 at 336 px, as LLaVA-NeXT has them
PROMPT_ROWS = 64  # what they become in the prompt: the means of 45 neighbours, projected


@dataclass
class Step:
    """What attention has to know of a step; tensors are on the device, integers are int32."""

    keys: list[torch.Tensor]  # of each layer [pages, page, heads, depth]
    values: list[torch.Tensor]
    slots: torch.Tensor  # [rows * width]: where each token's key goes
    positions: torch.Tensor  # [rows, width]: its place in its request
    how: str  # "own" (the step's own keys are all there are), "view", "gather", "fused" (decode: pages in place)
    span: int  # keys that are looked at
    first: int = 0  # "view": the page where the rows' memory begins
    reserved: int = 0  # "view": tokens of memory of each row
    table: torch.Tensor | None = None  # [rows, span / page]: the pages of each row
    lengths: torch.Tensor | None = None  # [rows]: keys of each, this step's included
    mask: torch.Tensor | None = None  # made once for all layers: where a query does not (fused: does) see a key
    order: torch.Tensor | None = None  # 0, 1, 2, ...
    fused: bool = False  # "own" and "gather" by lab::attention, not by the chain


def chain(query, key, value, scale: float, hidden):
    """Attention as a chain of PyTorch's operators. key, value: [rows, heads, span, depth]."""
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = torch.matmul(query, key.transpose(2, 3)) * scale
    scores = scores.masked_fill(hidden, float("-inf"))
    shares = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(shares, value)


def gathered(pool, step: Step):
    """The rows' keys (or values) as [rows, heads, span, depth]."""
    page, heads, depth = pool.shape[1:]
    rows = step.positions.shape[0]
    if step.how == "view":
        per_row = step.reserved // page
        side_by_side = pool[step.first : step.first + rows * per_row].view(rows, step.reserved, heads, depth)
        return side_by_side[:, : step.span].transpose(1, 2)
    together = pool.index_select(0, step.table.reshape(-1)).view(rows, -1, heads, depth)
    return together[:, : step.span].transpose(1, 2)


def fused_attention(query, keys, values, step: Step, scale: float):
    """One token for each row by lab::paged_attention, which reads the pages where they lie: [rows, heads, 1, depth]."""
    labkit.operator("attention").load("paged_attention")
    out = torch.ops.lab.paged_attention(query.squeeze(2), keys, values, step.table, step.lengths, scale)
    return out.unsqueeze(2)


def fused_prompt(query, key, value, step: Step, scale: float):
    """A piece of a prompt by lab::attention: [rows, heads, width, depth]. Rows are padded behind their last token, so
    that what a query may see of its own step is what stands before it; of keys from the cache a mask says it."""
    labkit.operator("attention").load("attention")
    if step.how == "own":
        return torch.ops.lab.attention(query, key, value, None, True, scale)
    if step.mask is None:
        step.mask = step.order[: key.shape[2]] <= step.positions[:, None, :, None]
    return torch.ops.lab.attention(query, key, value, step.mask, False, scale)


def _attention(module, query, key, value, mask, scaling=None, dropout=0.0, *, step: Step, **_):
    keys, values = step.keys[module.layer_idx], step.values[module.layer_idx]
    for pool, new in ((keys, key), (values, value)):
        pool.view(-1, *pool.shape[2:]).index_copy_(0, step.slots, new.transpose(1, 2).flatten(0, 1))
    if step.how == "fused":
        out = fused_attention(query, keys, values, step, scaling)
    else:
        if step.how != "own":
            key, value = gathered(keys, step), gathered(values, step)
        if step.fused:
            out = fused_prompt(query, key, value, step, scaling)
        else:
            if step.mask is None:
                step.mask = step.order[: key.shape[2]] > step.positions[:, None, :, None]
            out = chain(query, key, value, scaling, step.mask)
    return out.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, _attention)


class Decoder:
    """The weights, on the npu. The same seed gives the same weights on every machine."""

    def __init__(self, seed: int = 0, layers: int = 2, hidden: int = 256, heads: int = 4, kv_heads: int = 2):
        self.config = LlamaConfig(
            hidden_size=hidden,
            intermediate_size=11 * hidden // 4,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            vocab_size=VOCABULARY,
            max_position_embeddings=4096,
        )
        self.config._attn_implementation = NAME
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = LlamaForCausalLM(self.config).half().eval().npu()
            self.project = torch.nn.Linear(FEATURE_WIDTH, hidden, bias=False).half().npu()
        self.layers, self.kv_heads, self.depth = layers, kv_heads, hidden // heads
        self.order = torch.arange(4096, dtype=torch.int32).npu()

    def pools(self, pages: int, page: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Keys and values of each layer, page 0 for padding."""
        shape = (pages + 1, page, self.kv_heads, self.depth)
        one = lambda: torch.zeros(shape, dtype=torch.float16, device="npu")  # noqa: E731
        return [one() for _ in range(self.layers)], [one() for _ in range(self.layers)]

    def prompt_rows(self, features: torch.Tensor) -> torch.Tensor:
        """Rows of a prompt from features on the device."""
        means = features.view(PROMPT_ROWS, -1, FEATURE_WIDTH).mean(1)
        return self.project(means.half())

    def next_tokens(self, ids, positions, last, step: Step, inserts: list[tuple[int, Any]] = ()) -> torch.Tensor:
        """The next token of each row, on the device. ids, positions: [rows, width]; last: the index of each row's last
        token, None where the width is 1; inserts: (row, features) of the rows whose prompt begins with features.
        """
        step.order = self.order
        inner = self.model.model
        rows = inner.embed_tokens(ids)
        for row, features in inserts:
            rows[row, :PROMPT_ROWS] = self.prompt_rows(features)
        out = inner(
            inputs_embeds=rows, position_ids=positions, attention_mask=None, use_cache=False, step=step
        ).last_hidden_state
        out = out[:, 0] if last is None else out.flatten(0, 1).index_select(0, last)
        return self.model.lm_head(out).argmax(-1)


def features_of(number: int, pinned: bool) -> torch.Tensor:
    """The features with that number, in host memory: what an encoder elsewhere would have sent."""
    made = torch.empty(FEATURE_ROWS, FEATURE_WIDTH, pin_memory=pinned)
    generator = torch.Generator().manual_seed(number)
    made.copy_(torch.rand(FEATURE_ROWS, 1, generator=generator).expand(-1, FEATURE_WIDTH))
    return made
