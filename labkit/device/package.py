"""torch_npu's modules beside torch.npu: utils, optim, contrib, distributed, dynamo. What of them programs use, made of
PyTorch's own parts; an operator that a card fuses is one launch here as well (fused.py).
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import math
import sys
import types
from collections.abc import Callable

import torch
from torch import nn

from labkit import messages
from labkit.device.compiling import CompilerConfig, get_npu_backend  # noqa: F401  (names of torch_npu.dynamo.torchair)
from labkit.device.distributed import (  # noqa: F401  (names of torch_npu.distributed)
    all_gather_into_tensor_uneven,
    is_hccl_available,
    reduce_scatter_tensor_uneven,
    reinit_process_group,
)
from labkit.device.import_hook import PROVIDERS
from labkit.device.modules import host
from labkit.device.names import use
from labkit.device.switches import (  # noqa: F401  (names of torch_npu.utils)
    FlopsCounter,
    _rebuild_npu_tensor,
    accepted,
    get_cann_version,
    get_part_combined_tensor,
    is_combined_tensor_valid,
    npu_combine_tensors,
    save_async,
)

# ---- torch_npu.optim: on a card these step by operators on all parameters as one tensor; here by the _foreach ones


class _Clips:
    """What NpuFusedOptimizerBase adds to an optimizer of PyTorch."""

    is_fused_optimizer = True

    @torch.no_grad()
    def clip_grad_norm_fused_(self, max_norm, norm_type=2):
        every = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        return nn.utils.clip_grad_norm_(every, max_norm, norm_type) if every else torch.tensor(0.0)


class NpuFusedOptimizerBase(_Clips, torch.optim.Optimizer):
    """Base of those below that PyTorch has not. A subclass says how a parameter moves: _move(p, grad, state, group)."""

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    self._move(p, p.grad, state, group)
        return loss

    def _moments(self, p, grad, state, beta1, beta2):
        """Running means of the gradient and of its square."""
        mean = state.setdefault("exp_avg", torch.zeros_like(p)) if "exp_avg" not in state else state["exp_avg"]
        if "exp_avg_sq" not in state:
            state["exp_avg_sq"] = torch.zeros_like(p)
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        return mean, state["exp_avg_sq"]


class NpuFusedSGD(_Clips, torch.optim.SGD):
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, foreach=True)


class NpuFusedAdam(_Clips, torch.optim.Adam):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=True)


class NpuFusedAdamW(_Clips, torch.optim.AdamW):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=True)


class NpuFusedAdadelta(_Clips, torch.optim.Adadelta):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
        super().__init__(params, lr, rho, eps, weight_decay)


class NpuFusedRMSprop(_Clips, torch.optim.RMSprop):
    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, centered)


class NpuFusedRMSpropTF(NpuFusedOptimizerBase):
    """RMSprop as TensorFlow has it: eps under the root, the mean of squares begins at one."""

    def __init__(self, params, lr=1e-2, alpha=0.9, eps=1e-10, weight_decay=0, momentum=0.0, centered=False,
                 decoupled_decay=False, lr_in_momentum=True):  # fmt: skip
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "decoupled_decay": decoupled_decay,
                                  "lr_in_momentum": lr_in_momentum})  # fmt: skip

    def _move(self, p, grad, state, group):
        if "square_avg" not in state:
            state["square_avg"] = torch.ones_like(p)
            state["momentum_buffer"], state["grad_avg"] = torch.zeros_like(p), torch.zeros_like(p)
        if group["weight_decay"]:
            if group["decoupled_decay"]:
                p.mul_(1 - group["lr"] * group["weight_decay"])
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        squares, share = state["square_avg"], 1 - group["alpha"]
        squares.add_(grad.square() - squares, alpha=share)
        if group["centered"]:
            state["grad_avg"].add_(grad - state["grad_avg"], alpha=share)
            root = squares.addcmul(state["grad_avg"], state["grad_avg"], value=-1).add_(group["eps"]).sqrt_()
        else:
            root = squares.add(group["eps"]).sqrt_()
        if not group["momentum"]:
            p.addcdiv_(grad, root, value=-group["lr"])
            return
        within = group["lr"] if group["lr_in_momentum"] else 1.0
        buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root, value=within)
        p.sub_(buffer, alpha=1.0 if group["lr_in_momentum"] else group["lr"])


class NpuFusedLamb(NpuFusedOptimizerBase):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0, adam=False,
                 use_global_grad_norm=False):  # fmt: skip
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self.adam, self.use_global_grad_norm = adam, use_global_grad_norm

    def _move(self, p, grad, state, group):
        if self.use_global_grad_norm:
            grads = [q.grad for g in self.param_groups for q in g["params"] if q.grad is not None]
            grad = grad / torch.stack([g.norm() for g in grads]).norm().clamp_min(1.0)
        mean, squares = self._moments(p, grad, state, *group["betas"])
        move = mean / (squares.sqrt() + group["eps"])
        if group["weight_decay"]:
            move.add_(p, alpha=group["weight_decay"])
        size, step = p.norm().clamp(0, 10), move.norm()
        ratio = torch.where((size == 0) | (step == 0), torch.ones_like(size), size / step)
        p.sub_(move if self.adam else ratio * move, alpha=group["lr"])


class NpuFusedAdamP(NpuFusedOptimizerBase):
    """AdamP (arXiv 2006.08217): the part of a step along the weight itself is taken out."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, delta=0.1, wd_ratio=0.1,
                 nesterov=False):  # fmt: skip
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "delta": delta,
                                  "wd_ratio": wd_ratio, "nesterov": nesterov})  # fmt: skip

    def _move(self, p, grad, state, group):
        beta1, beta2 = group["betas"]
        mean, squares = self._moments(p, grad, state, beta1, beta2)
        root = (squares.sqrt() / math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        move = (beta1 * mean + (1 - beta1) * grad if group["nesterov"] else mean) / root
        ratio = 1.0
        if p.dim() > 1:
            for rows in (len(p), 1):
                w, g = p.view(rows, -1), grad.view(rows, -1)
                alike = (w * g).sum(1).abs() / (w.norm(dim=1) + group["eps"]) / (g.norm(dim=1) + group["eps"])
                if alike.max() < group["delta"] / math.sqrt(w.size(1)):
                    unit = w / (w.norm(dim=1, keepdim=True) + group["eps"])
                    move = (move.view(rows, -1) - unit * (unit * move.view(rows, -1)).sum(1, True)).view_as(p)
                    ratio = group["wd_ratio"]
                    break
        if group["weight_decay"]:
            p.mul_(1 - group["lr"] * group["weight_decay"] * ratio)
        p.sub_(move, alpha=group["lr"] / (1 - beta1 ** state["step"]))


class NpuFusedBertAdam(NpuFusedOptimizerBase):
    """Adam without the correction of the first steps, with BERT's schedules of the learning rate."""

    _schedules: dict[str, Callable] = {
        "warmup_cosine": lambda x, w: x / w if x < w else 0.5 * (1 + math.cos(math.pi * x)),
        "warmup_constant": lambda x, w: x / w if x < w else 1.0,
        "warmup_linear": lambda x, w: x / w if x < w else max((x - 1) / (w - 1), 0),
        "warmup_poly": lambda x, w: x / w if x < w else (1 - x) ** 0.5,
    }

    def __init__(self, params, lr=1e-3, warmup=-1, t_total=-1, schedule="warmup_linear", b1=0.9, b2=0.999, e=1e-6,
                 weight_decay=0.01, max_grad_norm=1.0):  # fmt: skip
        if schedule not in self._schedules:
            raise ValueError(f"Invalid schedule parameter: {schedule}")
        super().__init__(params, {"lr": lr, "schedule": schedule, "warmup": warmup, "t_total": t_total, "b1": b1,
                                  "b2": b2, "e": e, "weight_decay": weight_decay,
                                  "max_grad_norm": max_grad_norm})  # fmt: skip

    def _move(self, p, grad, state, group):
        if group["max_grad_norm"] > 0:
            grad = grad * (group["max_grad_norm"] / (grad.norm() + 1e-6)).clamp(max=1.0)
        mean, squares = self._moments(p, grad, state, group["b1"], group["b2"])
        move = mean / (squares.sqrt() + group["e"])
        if group["weight_decay"] > 0:
            move.add_(p, alpha=group["weight_decay"])
        rate = group["lr"]
        if group["t_total"] != -1:
            rate *= self._schedules[group["schedule"]]((state["step"] - 1) / group["t_total"], group["warmup"])
        p.sub_(move, alpha=rate)


# ---- the tree

_OPTIM = """NpuFusedOptimizerBase NpuFusedSGD NpuFusedAdadelta NpuFusedLamb NpuFusedAdam NpuFusedAdamW NpuFusedAdamP
    NpuFusedBertAdam NpuFusedRMSprop NpuFusedRMSpropTF"""
_MODULE = """Mish SiLU Swish NpuCachedDropout NpuFairseqDropout NpuPreGenDropout DropoutWithByteMask NpuDropPath
    ChannelShuffle Focus LabelSmoothingCrossEntropy BiLSTM Prefetcher LinearQuant LinearA8W8Quant LinearWeightQuant
    MultiheadAttention"""
_FUNCTION = """roll matmul_transpose npu_fast_condition_index_put fuse_add_softmax_dropout dropout_with_byte_mask
    npu_iou npu_ptiou npu_giou npu_diou npu_ciou"""
_MORE: dict[str, object] = {
    "FastBatchNorm1d": nn.BatchNorm1d,
    "FastBatchNorm2d": nn.BatchNorm2d,
    "FastBatchNorm3d": nn.BatchNorm3d,
    "FastSyncBatchNorm": nn.SyncBatchNorm,
    "set_thread_affinity": host.set_thread_affinity,
    "reset_thread_affinity": host.reset_thread_affinity,
    "set_asd_loss_scale": accepted,
    "register_asd_hook": accepted,
}
TREE = {
    "utils": """npu_combine_tensors get_part_combined_tensor is_combined_tensor_valid FlopsCounter save_async
        get_cann_version set_thread_affinity reset_thread_affinity set_asd_loss_scale register_asd_hook""",
    "utils.storage": "_rebuild_npu_tensor",
    "optim": _OPTIM,
    "contrib": f"{_MODULE} {_FUNCTION}",
    "contrib.module": f"{_MODULE} FastBatchNorm1d FastBatchNorm2d FastBatchNorm3d FastSyncBatchNorm",
    "contrib.function": _FUNCTION,
    "contrib.transfer_to_npu": "",
    "npu._sanitizer": "SanitizerMode NPUSanitizer npu_sanitizer enable_npu_sanitizer",
    "npu._stream_check": """CrossStreamUsage NPUTensorInfo MissingRecordStreamError NPURecordStreamHandler
        NPUArgumentHandler NPUSanitizerDispatchMode""",
    "utils._npu_trace": "",
    "utils.affinity": "_set_thread_affinity _reset_thread_affinity",
    "utils._error_code": "ErrCode pta_error ops_error dist_error graph_error prof_error",
    "utils.flops_count": "_FlopsCounter FlopsCounter",
    "utils.collect_env": "",
    "utils._dynamo_device": "",
    "contrib.module.channel_shuffle": "ChannelShuffle",
    "contrib.module.drop_path": "NpuDropPath",
    "contrib.module.ensemble_dropout": "NpuFairseqDropout NpuCachedDropout NpuPreGenDropout",
    "contrib.module._ensemble_dropout": "NpuPreGenDropout _PreGenDropoutTask",
    "contrib.module.multihead_attention": "MultiheadAttention _MHAConfig _NpuLinear _quant_noise",
    "contrib.function._matmul_transpose": "MatmulApply",
    "distributed": """is_hccl_available reinit_process_group reduce_scatter_tensor_uneven
        all_gather_into_tensor_uneven""",
    "dynamo": "",
    "dynamo.torchair": "CompilerConfig get_npu_backend",
}


# Where the names of a module of TREE are, if not here: these are loaded only when a program asks for them.
_WHERE = {"npu._sanitizer": "sanitizer", "npu._stream_check": "sanitizer", "utils._npu_trace": "sanitizer",
          "utils.affinity": "host", "utils._error_code": "host", "utils.flops_count": "host",
          **dict.fromkeys([name for name in TREE if name.startswith("contrib")], "contrib")}  # fmt: skip
# Modules that are one of ours as it is: what a program changes in it counts.
_WHOLE = {"utils.collect_env": "collect_env", "utils._dynamo_device": "dynamo_device"}


def _contents(rest: str) -> dict[str, object]:
    here = sys.modules[__name__]
    if rest in _WHERE:
        here = importlib.import_module(f"labkit.device.modules.{_WHERE[rest]}")
    if rest == "utils._npu_trace":
        return dict(here.trace)
    return {n: _MORE.get(n) or getattr(here, n) for n in TREE[rest].split()}


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of TREE; any other one of torch_npu says what to use instead."""

    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package != "torch_npu" or not rest:
            return None
        if rest in TREE:
            inner = any(other.startswith(f"{rest}.") for other in TREE)
            return importlib.machinery.ModuleSpec(name, self, is_package=inner)
        part = rest.partition(".")[0]
        if part in PROVIDERS and rest in (there := importlib.import_module(PROVIDERS[part]).MODULES):
            inner = any(other.startswith(f"{rest}.") for other in there)
            return importlib.machinery.ModuleSpec(name, self, is_package=inner)
        use = messages.text(f"device.module.{part}") if messages.has(f"device.module.{part}") else ""
        raise ModuleNotFoundError(messages.text("device.torch_npu_module", name=name, instead=use).strip(), name=name)

    def create_module(self, spec):
        rest = spec.name.partition(".")[2]
        return importlib.import_module(f"labkit.device.modules.{_WHOLE[rest]}") if rest in _WHOLE else None

    def exec_module(self, module: types.ModuleType) -> None:
        rest = module.__spec__.name.partition(".")[2]
        if rest in _WHOLE:
            return
        if rest == "contrib.transfer_to_npu":
            from labkit.device import transfer

            transfer.apply()
            module.__dict__.update({name: getattr(transfer, name) for name in transfer.NAMES})
            return
        there: dict | str = TREE
        if (part := rest.partition(".")[0]) in PROVIDERS:
            provider = importlib.import_module(PROVIDERS[part])
            there, contents = provider.MODULES, provider.contents(rest)
        else:
            contents = _contents(rest)
        module.__dict__.update(contents)
        module.__all__ = contents.pop("__all__", list(contents))

        def missing(name: str):
            if f"{rest}.{name}" in there:
                return importlib.import_module(f"torch_npu.{rest}.{name}")
            raise AttributeError(messages.text("device.torch_npu_missing", name=f"{rest}.{name}", instead=use(name)))

        module.__getattr__ = missing
