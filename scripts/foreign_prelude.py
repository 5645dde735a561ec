"""What scripts/foreign_programs.py puts before a foreign program, as the sitecustomize of its processes. It seeds,
notes the value of every loss on which backward() is called, and gives the CPU's run a stand-in for the npu. The program
itself is not touched.

FOREIGN_MODE=npu: the simulated device. A program that does not import torch_npu gets `import labkit`, as torch loads
the real torch_npu by itself (its entry point torch.backends).
FOREIGN_MODE=cpu: without the lab. "npu" and "cuda" are other names of the CPU: names of devices are exchanged in every
call, torch.npu and torch.cuda do nothing, hccl and nccl are gloo. Draws of random numbers that would be the device's
come from a sequence of their own, as on the device (labkit/device/csrc/generator.h), so that both runs see the same
numbers.
"""

import atexit
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import sys
import types

MODE = os.environ.get("FOREIGN_MODE", "")
MASK = (1 << 64) - 1


class After(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls step(module) once the module is imported."""

    def __init__(self, name, step):
        self.name, self.step = name, step

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec:
            self.inner, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.inner
        self.inner.exec_module(module)
        self.step(module)

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


def note_losses(torch):
    """Every loss goes to a file of this process; what is no single number, as its sum."""
    into = f"{os.environ['FOREIGN_LOSSES']}.{os.environ.get('RANK', '0')}"
    plain = torch.autograd.backward

    @functools.wraps(plain)
    def backward(tensors, *args, **kwargs):
        for t in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
            t = t.detach()
            t = t.full_tensor() if hasattr(t, "full_tensor") else t
            with open(into, "a", encoding="ascii") as file:
                file.write(f"{t.cpu().double().sum().item()!r}\n")
        return plain(tensors, *args, **kwargs)

    torch.autograd.backward = backward


# ---- the stand-in


class Draws:
    """The device's random numbers: an engine that is seeded anew for each call."""

    seed, offset = 67280421310721, 0  # PyTorch's default; seeding before the device is there does not reach it

    @staticmethod
    def mixed(x):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        return x ^ x >> 31

    def next(self):
        now = self.mixed(self.seed ^ self.mixed(self.offset)) if self.offset else self.seed
        self.offset += 4
        return now


class Nothing:
    """An object of the device's (a stream, an event, a graph): everything can be called, nothing happens."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __call__(self, *args, **kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


class Absent(types.ModuleType):
    """A module of which every name exists and does nothing."""

    def __init__(self, name, **names):
        super().__init__(name)
        self.__path__, self.__spec__ = [], importlib.machinery.ModuleSpec(name, None, is_package=True)
        self.__dict__.update(names)
        sys.modules[name] = self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


def stand_in(torch):
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    torch.utils.rename_privateuse1_backend("npu")
    draws, there = Draws(), {}  # there: storages that would be on the device
    at_home = torch.device("cpu", 0)  # their .device: the CPU for PyTorch, but to be told from "cpu"
    plain_seed, aten = torch.manual_seed, torch.Tensor
    names_of_it = ("npu", "cuda") if os.environ.get("FOREIGN_CUDA") else ("npu",)
    always = {"bernoulli", "bernoulli_", "native_dropout", "multinomial", "rand_like", "randn_like", "randint_like"}
    made = {"rand", "randn", "randint", "randperm"}
    filled = {"normal_", "uniform_", "bernoulli_", "exponential_", "random_", "trunc_normal_"}

    device_of = aten.device.__get__

    def manual_seed(seed):
        draws.seed, draws.offset = int(seed) & MASK, 0
        return plain_seed(seed)

    def on_device(value):
        if isinstance(value, torch.device):
            return value.type not in ("cpu", "meta") or value == at_home
        return isinstance(value, str) and value.split(":")[0] in names_of_it

    def drawn(function, args, kwargs):
        if kwargs.get("generator") is not None:  # has a sequence of its own
            return function(*args, **kwargs)
        kept = torch.get_rng_state()
        plain_seed(draws.next())
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_rng_state(kept)

    def key(tensor):
        try:
            return tensor.untyped_storage()._cdata
        except Exception:
            return None

    class Exchange(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs, name = dict(kwargs or {}), getattr(function, "__name__", "")
            if name in ("_parse_to", "device"):  # of Module.to, whose tensors' own to() follows; torch.device() itself
                return function(*args, **kwargs)
            if function == device_of:
                return at_home if key(args[0]) in there else function(*args)
            moved = any(on_device(v) for v in (*args, *kwargs.values())) or name in ("npu", "cuda")
            if name in ("npu", "cuda"):
                function, args, kwargs = aten.to, (args[0], "cpu"), {}
            if moved:
                args = tuple(torch.device("cpu") if on_device(a) else a for a in args)
                kwargs = {k: torch.device("cpu") if on_device(v) else v for k, v in kwargs.items()}
            if getattr(kwargs.get("device"), "type", "") == "cpu":
                kwargs["device"] = torch.device("cpu")
            kwargs.pop("pin_memory", None) if name == "empty" else None
            first = args[0] if args else kwargs.get("tensor")
            first = first if isinstance(first, torch.Tensor) else None
            if (name in made and moved) or (name in filled and first is not None and key(first) in there):
                return drawn(function, args, kwargs)
            result = function(*args, **kwargs)
            if isinstance(result, torch.Tensor) and result is first and name in ("to", "cpu"):
                if (name == "cpu" or not moved) == (key(first) in there):
                    result = first.clone() if name == "cpu" or moved else first
            if moved and isinstance(result, torch.Tensor) and key(result):
                there[key(result)] = result.untyped_storage()
            return result

    class Dropping(TorchDispatchMode):
        """Draws without a name of a device are the device's: dropout, sampling, what is like another tensor."""

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            own = function._schema.name.removeprefix("aten::") in always
            return drawn(function, args, kwargs or {}) if own else function(*args, **(kwargs or {}))

    count, cpu = int(os.environ.get("FOREIGN_DEVICES", "8")), torch.device("cpu")
    names = {
        "is_available": lambda: True, "device_count": lambda: count, "current_device": lambda: 0,
        "manual_seed": lambda s: None, "manual_seed_all": lambda s: None, "get_device_name": lambda *a: "Ascend910B1",
        "memory_allocated": lambda *a: 0, "max_memory_allocated": lambda *a: 0, "is_bf16_supported": lambda: True,
        "make_graphed_callables": lambda f, *a, **k: f, "synchronize": lambda *a: None, "set_device": lambda d: None,
        "empty_cache": lambda: None, "Stream": Nothing, "stream": Nothing, "get_device_capability": lambda *a: (8, 0),
    }  # fmt: skip
    torch.npu = Absent("torch.npu", **names)
    Absent("torch_npu", npu=torch.npu, __version__=torch.__version__, __file__="stand-in")
    sys.modules["torch_npu.npu"] = torch.npu
    fused = {"NpuFusedAdam": torch.optim.Adam, "NpuFusedSGD": torch.optim.SGD, "NpuFusedAdamW": torch.optim.AdamW}
    sys.modules["torch_npu"].optim = Absent("torch_npu.optim", **fused)
    sys.modules["torch_npu"].contrib = Absent("torch_npu.contrib", transfer_to_npu=Absent("torch_npu.contrib.transfer"))
    if os.environ.get("FOREIGN_CUDA"):
        torch.cuda.__dict__.update(names)
    for name, value in {
        "is_available": lambda: True, "device_count": lambda: count, "set_device_index": lambda d: None,
        "current_accelerator": lambda *a, **k: torch.device("npu"), "device_index": Nothing,
        "current_device_index": lambda: 0,
        "synchronize": lambda *a: None,
    }.items():  # fmt: skip
        setattr(torch.accelerator, name, value)
    torch.manual_seed = torch.random.manual_seed = manual_seed
    aten.pin_memory = lambda self, *a, **k: self
    aten.npu = lambda self, *a, **k: self.to("npu")
    aten.cuda = lambda self, *a, **k: self.to("npu")
    torch.nn.Module.npu = torch.nn.Module.cuda = lambda self, *a, **k: self.to("npu")
    module_to = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *a, **k: module_to(
        self, *("npu" if type(v) is int or getattr(v, "index", None) else v for v in a), **k
    )
    tensor_to = aten.to

    @functools.wraps(tensor_to)  # PyTorch hands the modes what stands under this name
    def to(self, *args, **kwargs):
        return tensor_to(self, *("npu" if type(v) is int else v for v in args), **kwargs)

    aten.to = to

    def renamed(cls, at):
        plain = cls.__init__

        def init(self, *args, **kwargs):
            if "device_type" in kwargs or "device" in kwargs:
                kwargs = {k: "cpu" if on_device(v) else v for k, v in kwargs.items()}
            plain(self, *("cpu" if i == at and on_device(v) else v for i, v in enumerate(args)), **kwargs)

        cls.__init__ = init

    renamed(torch.amp.autocast_mode.autocast, 0)
    renamed(torch.amp.GradScaler, 0)
    dist = torch.distributed
    begin, ddp = dist.init_process_group, torch.nn.parallel.DistributedDataParallel.__init__

    def init_process_group(backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        return begin("cpu:gloo", *args, **kwargs)

    def parallel(self, module, device_ids=None, output_device=None, **kwargs):
        return ddp(self, module, **kwargs)

    dist.init_process_group = dist.distributed_c10d.init_process_group = init_process_group
    mesh = dist.device_mesh.init_device_mesh
    dist.device_mesh.init_device_mesh = dist.init_device_mesh = lambda *a, **k: mesh(
        *("cpu" if on_device(v) else v for v in a), **{k: "cpu" if on_device(v) else v for k, v in k.items()}
    )
    torch._C._get_accelerator = lambda *a: cpu
    dist.get_default_backend_for_device = lambda device: "gloo"
    torch.nn.parallel.DistributedDataParallel.__init__ = parallel
    Exchange().__enter__()
    Dropping().__enter__()


def count_launches():
    """How many operators the simulated device had in this process, beside the losses."""
    device = sys.modules.get("labkit.device")
    if device and os.environ.get("FOREIGN_LOSSES"):
        with open(os.environ["FOREIGN_LOSSES"].replace("losses", "launches"), "a", encoding="ascii") as file:
            file.write(f"{device.clock().launches}\n")  # the timeline keeps the newest alone


def ready(torch):
    torch.manual_seed(0)
    note_losses(torch)
    if MODE == "cpu":
        stand_in(torch)
    else:
        atexit.register(count_launches)


if MODE:
    random.seed(0)
    sys.meta_path.insert(0, After("torch", ready))
    if importlib.util.find_spec("numpy"):
        import numpy

        numpy.random.seed(0)
    if MODE == "cpu":
        import torch  # noqa: F401  a program may begin with torch_npu
    if MODE == "npu" and os.environ.get("FOREIGN_PRELOAD"):
        import labkit  # noqa: F401
