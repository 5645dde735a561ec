"""torch.compile with its default backend against eager on the simulated npu: twenty small models in training.

    python scripts/inductor_models.py [--write] [name ...]      # --write: their rows of data/inductor_models.csv

The cases are MODELS below, stated before the run: fourteen architectures of transformers with small random
configurations, six of our own. Each runs three training steps (forward, backward, SGD) eagerly and compiled, from the
same weights and inputs in fp32, dropout off. right: outputs of the first step, its gradients and the weights after the
third are within 1e-4 of eager's, relative to the largest number of the tensor, or no farther than twice eager's own
distance from the model in fp64 (a gradient that is 0 but for rounding, as that of a key's bias). Times are modelled, of
the third step, by events.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import time
import warnings
from pathlib import Path

import torch
from torch import nn

import labkit  # noqa: F401
from labkit.triton import inductor

REPO = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-4
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
TEXT = SMALL | {"vocab_size": 99, "max_position_embeddings": 64}


def tokens(*shape, below=99):
    return torch.randint(3, below, shape, generator=torch.Generator().manual_seed(7))


def floats(*shape):
    return torch.randint(-16, 17, shape, generator=torch.Generator().manual_seed(8)) / 8


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(50, 16), nn.Embedding(70, 16)
        self.deep = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, users, items, dense):
        u, i = self.users(users), self.items(items)
        return torch.sigmoid(self.deep(torch.cat((u, i, dense), -1)).squeeze(-1) + (u * i).sum(-1))


class SwiGlu(nn.Module):
    def __init__(self, n=64, wide=160):
        super().__init__()
        self.norm = nn.RMSNorm(n)
        self.gate, self.up, self.down = nn.Linear(n, wide), nn.Linear(n, wide), nn.Linear(wide, n)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(24, 32), nn.Linear(32, 5)

    def forward(self, x):
        h = c = torch.zeros(x.shape[1], 32, device=x.device)
        for t in range(x.shape[0]):
            h, c = self.cell(x[t], (h, c))
        return self.out(h)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(64, 192), nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        mask = torch.ones(x.shape[1], x.shape[1], device=x.device).tril() == 0
        scores = (q @ k.transpose(-1, -2) / 4).masked_fill(mask, -1e9).softmax(-1)
        return x + self.out((scores @ v).transpose(1, 2).flatten(2))


def mlp():
    return nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 10)), (floats(32, 48),)


def conv_bn():
    conv = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3),
        nn.BatchNorm2d(16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    return conv, (floats(4, 3, 16, 16),)


def of_transformers(model: str, config: str, given, **settings):
    def make():
        import transformers

        made = getattr(transformers, config)(**settings)
        return getattr(transformers, model)(made), given()

    return make


def clip():
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig(
        text_config=TEXT | {"eos_token_id": 2},
        vision_config=SMALL | {"image_size": 16, "patch_size": 8},
        projection_dim=32,
    )
    return CLIPModel(config), {"input_ids": tokens(3, 10), "pixel_values": floats(3, 3, 16, 16)}


IDS = {"input_ids": tokens(4, 12)}
IMAGE = {"pixel_values": floats(2, 3, 32, 32)}
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
WHISPER = {
    "vocab_size": 99, "num_mel_bins": 16, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
    "max_source_positions": 32, "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1,
}  # fmt: skip
ROTARY = TEXT | {"num_key_value_heads": 2}
MODELS = {
    "mlp": mlp,
    "conv_bn": conv_bn,
    "lstm_cell": lambda: (Cells(), (floats(5, 6, 24),)),
    "swiglu": lambda: (SwiGlu(), (floats(4, 20, 64),)),
    "recommender": lambda: (Recommender(), (tokens(40, below=50), tokens(40, below=70), floats(40, 8))),
    "attention": lambda: (Attention(), (floats(2, 24, 64),)),
    "bert": of_transformers("BertModel", "BertConfig", lambda: IDS, **TEXT),
    "gpt2": of_transformers("GPT2LMHeadModel", "GPT2Config", lambda: IDS | {"labels": IDS["input_ids"]},
                            vocab_size=99, n_positions=64, n_embd=64, n_layer=2, n_head=4),
    "llama": of_transformers("LlamaForCausalLM", "LlamaConfig", lambda: IDS | {"labels": IDS["input_ids"]}, **ROTARY),
    "qwen2": of_transformers("Qwen2ForCausalLM", "Qwen2Config", lambda: IDS | {"labels": IDS["input_ids"]}, **ROTARY),
    "mistral": of_transformers("MistralModel", "MistralConfig", lambda: IDS, **ROTARY),
    "vit": of_transformers("ViTModel", "ViTConfig", lambda: IMAGE, **SMALL, image_size=32, patch_size=8),
    "t5": of_transformers("T5Model", "T5Config", lambda: IDS | {"decoder_input_ids": tokens(4, 7)}, **T5),
    "clip": clip,
    "resnet": of_transformers("ResNetModel", "ResNetConfig", lambda: IMAGE, embedding_size=8, hidden_sizes=[8, 16],
                              depths=[1, 1], layer_type="basic"),
    "whisper": of_transformers("WhisperModel", "WhisperConfig", lambda: {"input_features": floats(2, 16, 64),
                               "decoder_input_ids": tokens(2, 6)}, **WHISPER),
    "distilbert": of_transformers("DistilBertModel", "DistilBertConfig", lambda: IDS, vocab_size=99, dim=64,
                                  n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=64),
    "roberta": of_transformers("RobertaForSequenceClassification", "RobertaConfig",
                               lambda: IDS | {"labels": tokens(4, below=5) % 2}, **TEXT),
    "opt": of_transformers("OPTModel", "OPTConfig", lambda: IDS, vocab_size=99, hidden_size=64, num_hidden_layers=2,
                           num_attention_heads=4, ffn_dim=128, max_position_embeddings=64, word_embed_proj_dim=64),
    "albert": of_transformers("AlbertModel", "AlbertConfig", lambda: IDS, **TEXT, embedding_size=32),
}  # fmt: skip


def on(inputs, device):
    if isinstance(inputs, dict):
        return {k: v.to(device) for k, v in inputs.items()}
    return tuple(v.to(device) for v in inputs)


def step(call, model, optimizer, inputs):
    """(floating outputs, gradients)."""
    optimizer.zero_grad()
    out = call(**inputs) if isinstance(inputs, dict) else call(*inputs)
    leaves = [t for t in torch.utils._pytree.tree_leaves(getattr(out, "to_tuple", lambda: out)()) if torch.is_tensor(t)]
    leaves = [t for t in leaves if t.dtype.is_floating_point and t.requires_grad]
    loss = out.loss if getattr(out, "loss", None) is not None else sum((t**2).mean() for t in leaves)
    loss.backward()
    grads = [p.grad.cpu() if p.grad is not None else torch.zeros(1) for p in model.parameters()]
    optimizer.step()
    return [t.detach().cpu() for t in leaves], grads


def run(model, inputs, compiled: bool):
    """(outputs, gradients, weights after three steps, modelled us of the third)."""
    call = torch.compile(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    outs, grads = step(call, model, optimizer, inputs)
    step(call, model, optimizer, inputs)
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    step(call, model, optimizer, inputs)
    end.record()
    torch.npu.synchronize()
    return outs, grads, [p.detach().cpu() for p in model.parameters()], 1000 * begin.elapsed_time(end)


def apart(a: list, b: list) -> float:
    return max(float((x - y).abs().max() / y.abs().max().clamp(min=1e-3)) for x, y in zip(a, b, strict=True))


def within(made, eager, model, inputs) -> bool:
    """By the rule above, for what is farther than TOLERANCE from eager's."""
    on_cpu = {k: _double(v) for k, v in inputs.items()} if isinstance(inputs, dict) else tuple(map(_double, inputs))
    exact = steps(copy.deepcopy(model).cpu().double(), on_cpu)
    for ours, theirs, true in zip(made[:3], eager[:3], exact, strict=True):
        for a, b, c in zip(ours, theirs, true, strict=True):
            if apart([a], [b]) > TOLERANCE and float((a - c).abs().max()) > 2 * float((b - c).abs().max()):
                return False
    return True


def _double(tensor):
    return tensor.cpu().double() if tensor.dtype.is_floating_point else tensor.cpu()


def steps(model, inputs) -> tuple:
    """(outputs, gradients, weights after three steps) on the CPU."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    outs, grads = step(model, model, optimizer, inputs)
    for _ in range(2):
        step(model, model, optimizer, inputs)
    return outs, grads, [p.detach() for p in model.parameters()]


def case(name: str) -> dict:
    torch._dynamo.reset()
    torch.manual_seed(3)
    model, inputs = MODELS[name]()
    model.train()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.0
        for attribute in ("dropout", "attention_dropout", "activation_dropout", "layerdrop", "dropout_prob"):
            if isinstance(getattr(m, attribute, None), float):
                setattr(m, attribute, 0.0)
    inputs = on(inputs, "npu")
    first = len(inductor.fallen)
    wall = time.time()
    eager = run(copy.deepcopy(model).npu(), inputs, False)
    try:
        made = run(copy.deepcopy(model).npu(), inputs, True)
    except Exception as error:  # counted, and the next one runs
        why = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        return {
            "model": name,
            "right": "no",
            "note": why[:160],
            "eager_us": round(eager[3], 1),
            "wall": time.time() - wall,
        }
    worst = [apart(made[i], eager[i]) for i in range(3)]
    fell = sorted({n for names in inductor.fallen[first:] for n in names})
    return {
        "model": name, "right": "yes" if max(worst) <= TOLERANCE or within(made, eager, model, inputs) else "no",
        "outputs_below": power(worst[0]), "gradients_below": power(worst[1]), "weights_below": power(worst[2]),
        "eager_us": round(eager[3], 1), "compiled_us": round(made[3], 1),
        "not_slower": "yes" if made[3] <= eager[3] else "no",
        "note": "ATen: " + " ".join(fell) if fell else "", "wall": time.time() - wall,
    }  # fmt: skip


def power(error: float) -> str:
    """The power of ten above: the last digits differ from host to host."""
    import math

    return "0" if error == 0 else f"1e{math.floor(math.log10(error)) + 1}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in args.names or MODELS:
        rows.append(case(name))
        print({**rows[-1], "wall": round(rows[-1]["wall"], 1)}, flush=True)
    right, quick = (sum(r.get(k) == "yes" for r in rows) for k in ("right", "not_slower"))
    print(f"{right} of {len(rows)} right; modelled time at most eager's in {quick}")
    if args.write:
        path = REPO / "data" / "inductor_models.csv"
        table = {r["model"]: r for r in csv.DictReader(path.open(encoding="utf-8"))} | {r["model"]: r for r in rows}
        names = ["model", "right", "outputs_below", "gradients_below", "weights_below", "eager_us", "compiled_us",
                 "not_slower", "note"]  # fmt: skip
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[name] for name in MODELS if name in table)
    sys.exit(right < len(rows))


if __name__ == "__main__":
    main()
