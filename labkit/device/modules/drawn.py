"""torch_npu.contrib.module: dropout whose mask is drawn on a stream of its own, beside the work of the current one, and
the attention of fairseq's models, which uses it.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from labkit.device.modules.host import ErrCode, ops_error


def drawn(shape, dtype, device, keep: float, stream) -> torch.Tensor:
    """1 with probability `keep`, else 0; drawn on `stream` (None: on the current one), which this one waits for."""
    if stream is None:
        return torch.empty(shape, dtype=dtype, device=device).bernoulli_(keep)
    current = torch.npu.current_stream(device)
    with torch.npu.stream(stream):
        mask = torch.empty(shape, dtype=dtype, device=device).bernoulli_(keep)
    current.wait_stream(stream)
    mask.record_stream(current)
    return mask


class _PreGenDropoutTask:
    """The masks of one probability: how many the last step took."""

    def __init__(self, device, p):
        self.device, self.p, self.idx = device, p, 0


class NpuPreGenDropout(nn.Dropout):
    """Dropout of a model that enable_dropout_ensemble() was called for: masks come from their own stream, on a card
    those of a step together. forward() takes a tensor, or [shape, dtype, device] and returns the mask."""

    prob: set[float] = set()
    task_dict: dict[float, _PreGenDropoutTask] = {}
    dropout_stream = None

    def __init__(self, p, module_name=None):
        super().__init__(p)
        self.module_name = module_name
        self.prob.add(p)

    @classmethod
    def enable_dropout_ensemble(cls, model) -> None:
        NpuPreGenDropout.dropout_stream = torch.npu.Stream()

        def anew(module, inputs) -> None:
            for p in cls.prob:
                cls.task_dict[p] = _PreGenDropoutTask(torch.npu.current_device(), p)

        anew(model, ())
        model.register_forward_pre_hook(anew)

    def forward(self, x):
        if not isinstance(x, (torch.Tensor, list)):
            raise RuntimeError(
                "NpuPreGenDropout takes a tensor, or a list of shape, dtype and device" + ops_error(ErrCode.TYPE)
            )
        wants_mask = isinstance(x, list)
        if self.p == 0 or not self.training:
            return None if wants_mask else x
        if self.p not in self.task_dict:
            raise RuntimeError(
                f"p = {self.p} is new since the step began; known: {list(self.task_dict)}" + ops_error(ErrCode.VALUE)
            )
        self.task_dict[self.p].idx += 1
        shape, dtype, device = x if wants_mask else (x.shape, x.dtype, x.device)
        mask = drawn(shape, dtype, device, 1 - self.p, self.dropout_stream)
        return mask if wants_mask else x * mask / (1 - self.p)


class NpuDropPath(nn.Module):
    """Leaves whole samples out."""

    droppath_stream = None

    def __init__(self, drop_prob=None):
        super().__init__()
        self.drop_prob, self.keep_prob = drop_prob, 1 - drop_prob

    def forward(self, x):
        if not self.drop_prob or not self.training:
            return x
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        return x.div(self.keep_prob) * drawn(shape, x.dtype, x.device, self.keep_prob, self.droppath_stream)

    @classmethod
    def enable_droppath_ensemble(cls, model) -> None:
        cls.droppath_stream = torch.npu.Stream()


# ---- attention


def _quant_noise(module: nn.Module, p: float, block_size: int) -> nn.Module:
    """While it trains, each forward pass drops blocks of the weight with probability p (arXiv 2004.07320)."""
    if p <= 0:
        return module
    if not isinstance(module, (nn.Linear, nn.Embedding, nn.Conv2d)):
        raise TypeError("Expected a Linear, an Embedding or a Conv2d" + ops_error(ErrCode.TYPE))
    weight = module.weight
    spatial = math.prod(weight.shape[2:])
    for wrong, what in (
        (weight.ndim == 2 and weight.size(1) % block_size, "Input features"),
        (weight.ndim == 4 and spatial == 1 and weight.size(1) % block_size, "Input channels"),
        (weight.ndim == 4 and spatial > 1 and spatial % block_size, "Kernel size"),
    ):
        if wrong:
            raise ValueError(f"{what}: {block_size} does not divide them" + ops_error(ErrCode.VALUE))

    def drop(module, inputs) -> None:
        if module.training:
            w = module.weight
            blocks = (len(w), w.size(1)) if spatial > 1 else (len(w), w.size(1) // block_size)
            gone = torch.empty(blocks, device=w.device).bernoulli_(p).bool()
            if spatial == 1:
                gone = gone.repeat_interleave(block_size, 1)
            module.weight.data = w.masked_fill(gone.view(*gone.shape, *(1,) * (w.ndim - 2)), 0) / (1 - p)

    module.register_forward_pre_hook(drop)
    return module


class _NpuLinear(nn.Linear):
    def forward(self, input2):
        if input2.dim() not in (2, 3):
            raise RuntimeError(
                f"the input has {input2.dim()} dimensions; 2 or 3 are wanted" + ops_error(ErrCode.NOT_SUPPORT)
            )
        bias = None if self.bias is None else self.bias.to(input2.dtype)
        return nn.functional.linear(input2, self.weight.to(input2.dtype), bias)


class _MHAConfig:
    """On a card: whether one operator does it all. Here PyTorch's operators do, in either case."""

    use_fussion_mha = False

    @classmethod
    def set_fussion(cls) -> None:
        cls.use_fussion_mha = True


class MultiheadAttention(nn.Module):
    """Attention of `num_heads` heads; queries, keys and values come as (batch * length, features)."""

    def __init__(self, embed_dim, num_heads, kdim=None, vdim=None, dropout=0.0, bias=True, add_bias_kv=False,
                 add_zero_attn=False, self_attention=False, encoder_decoder_attention=False, q_noise=0.0,
                 qn_block_size=8):  # fmt: skip
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.qkv_same_dim = self.kdim == self.vdim == embed_dim
        self.self_attention, self.encoder_decoder_attention = self_attention, encoder_decoder_attention
        self.add_zero_attn, self.dropout_prob = add_zero_attn, dropout
        if self.head_dim * num_heads != embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads" + ops_error(ErrCode.VALUE))
        if self_attention and not self.qkv_same_dim:
            raise ValueError("self_attention: kdim and vdim must be embed_dim"
                             + ops_error(ErrCode.VALUE))  # fmt: skip
        widths = {"k_proj": self.kdim, "v_proj": self.vdim, "q_proj": embed_dim, "out_proj": embed_dim}
        for name, width in widths.items():
            setattr(self, name, _quant_noise(_NpuLinear(width, embed_dim, bias=bias), q_noise, qn_block_size))
        for name in ("bias_k", "bias_v"):
            value = nn.Parameter(torch.empty(1, 1, embed_dim)) if add_bias_kv else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            gain = 1 / math.sqrt(2) if self.qkv_same_dim and name != "out_proj" else 1
            nn.init.xavier_uniform_(getattr(self, name).weight, gain=gain)
        if self.out_proj.bias is not None:
            nn.init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                nn.init.xavier_normal_(bias)

    def forward(self, query, key, value, bsz, tgt_len, s_len, key_padding_mask=None, **_):
        """(the result as (batch * length, features), None). key_padding_mask is added to the scores."""

        def heads(x, bias=None):
            x = x.view(bsz, -1, self.embed_dim)
            if bias is not None:
                x = torch.cat([x, bias.to(x).expand(bsz, 1, -1)], 1)
            return x.unflatten(2, (self.num_heads, self.head_dim)).transpose(1, 2)

        q = heads(self.q_proj(query))
        k, v = heads(self.k_proj(key), self.bias_k), heads(self.v_proj(value), self.bias_v)
        mask = None if key_padding_mask is None else key_padding_mask.to(q.dtype)
        if mask is not None and self.bias_k is not None:
            mask = nn.functional.pad(mask, (0, 1))
        p = self.dropout_prob if self.training else 0.0
        out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.out_proj(out.transpose(1, 2).reshape(bsz * tgt_len, self.embed_dim)), None
