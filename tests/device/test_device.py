"""The simulated npu as a device of PyTorch: the same values as the CPU's, in the arena, with PyTorch's own errors."""

from __future__ import annotations

import copy
import importlib.util
import io
import os
import pickle
import subprocess
import sys

import pytest
from device_lab import device, inside, simulated, torch
from same import equal  # noqa: E402
from torch import nn
from torch.nn import functional as F

from labkit import paths

pytestmark = simulated


# ---- the device


def test_names():
    assert torch.device("npu").type == "npu" and torch.npu.is_available() and torch.npu.device_count() == 1
    assert torch.npu.get_device_name().startswith("Ascend910B1")
    properties = torch.npu.get_device_properties()
    assert (properties.cube_core_num, properties.vector_core_num, properties.total_memory) == (24, 48, 64 << 30)
    import torch_npu

    assert torch_npu.npu is torch.npu and torch_npu.__version__.endswith("+sim")


def test_install_again_changes_nothing():
    x = torch.ones(4, device="npu")
    assert device.install() == device.install("910B1") == "sim"
    assert device.chip() == "910B1" and x.tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="no chip 'X9'"):
        device.install("X9")


def test_missing_names_say_so():
    with pytest.raises(AttributeError, match="exists in torch_npu"):
        torch.npu.NPUPluggableAllocator
    with pytest.raises(AttributeError, match="neither"):
        torch.npu.no_such_name
    import torch_npu

    with pytest.raises(AttributeError, match="stand-in.*npu_fusion_attention"):
        torch_npu.npu_nsa_compress_attention
    with pytest.raises(ModuleNotFoundError, match="torch_npu.onnx.*stand-in"):
        import torch_npu.onnx  # noqa: F401
    with pytest.raises(RuntimeError, match="no npu:7"):
        torch.npu.set_device(7)
    for name in torch.npu.__all__:
        getattr(torch.npu, name)


def test_printing_and_leaving_the_device():
    x = torch.arange(6, device="npu").reshape(2, 3)
    assert repr(x) == "tensor([[0, 1, 2],\n        [3, 4, 5]], device='npu:0')"
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x[1, 2].item() == 5
    with pytest.raises(TypeError, match="can't convert npu:0 device type tensor to numpy"):
        x.numpy()


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: b + a,
        lambda a, b: a @ b,
        lambda a, b: torch.cat([a, b]),
        lambda a, b: a.mul_(b),
        lambda a, b: F.linear(a, b),
        lambda a, b: torch.where(a > 0, a, b),
        lambda a, b: a.index_select(0, b[0].long()),
    ],
)
def test_mixed_devices_are_refused(mix):
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices"
    ):
        mix(torch.ones(2, 2, device="npu"), torch.ones(2, 2))


def test_what_may_be_mixed():
    x = torch.arange(4.0, device="npu")
    assert (x + torch.tensor(1.0)).tolist() == [1, 2, 3, 4]  # a number as a 0-d tensor
    assert x[torch.tensor([3, 0])].tolist() == [3, 0]  # index tensors may stay on the host
    x[torch.tensor([True, False, False, True])] = 9
    assert x.tolist() == [9, 1, 2, 9]


def test_operators_without_a_kernel():
    lib = torch.library.Library("labtest", "FRAGMENT")
    lib.define("nothing(Tensor x) -> Tensor")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: torch.from_numpy(x.numpy() * 2), "CPU")
    with pytest.raises(NotImplementedError, match="labtest::nothing"):
        torch.ops.labtest.nothing(torch.ones(2, device="npu"))
    y = torch.ops.labtest.twice(torch.ones(2, device="npu"))  # a CPU kernel whose result lies outside the arena
    assert y.device.type == "npu" and y.tolist() == [2, 2] and inside(y)


def test_a_cpu_kernel_may_keep_its_result():
    kept = []
    lib = torch.library.Library("labtest", "FRAGMENT")
    lib.define("kept(Tensor x) -> Tensor")
    lib.impl("kept", lambda x: kept.append(x + 1) or kept[-1], "CPU")
    y = torch.ops.labtest.kept(torch.ones(3, device="npu"))
    assert inside(y) and y.tolist() == [2, 2, 2]
    del y
    assert kept[0].device.type == "cpu" and (kept[0] * 2).tolist() == [4, 4, 4]


# ---- values


def _train(make, where: str, x: torch.Tensor, loss_of, optimizer):
    torch.manual_seed(0)
    model = make()  # made on the CPU, so that both devices start from the same numbers
    model, x = model.to(where), x.to(where)
    step, losses = optimizer(model.parameters()), []
    for _ in range(5):
        loss = loss_of(model(x))
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    return losses, [p.grad.cpu() for p in model.parameters()], model


def _same_training(make, x, loss_of, optimizer):
    cpu, cpu_grads, _ = _train(make, "cpu", x, loss_of, optimizer)
    npu, npu_grads, model = _train(make, "npu", x, loss_of, optimizer)
    torch.testing.assert_close(npu, cpu, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(npu_grads, cpu_grads, rtol=1e-4, atol=1e-5)
    assert [n for n, p in model.named_parameters() if not (inside(p) and inside(p.grad))] == [], "outside the arena"


def test_mlp_trains_as_on_the_cpu():
    target = torch.arange(32) % 4
    _same_training(
        lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)),
        torch.randn(32, 16, generator=torch.Generator().manual_seed(1)),
        lambda y: F.cross_entropy(y, target.to(y.device)),
        lambda p: torch.optim.AdamW(p, 1e-2),
    )


def test_cnn_trains_as_on_the_cpu():
    _same_training(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.ConvTranspose2d(8, 4, 2, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 5),
        ),
        torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1)),
        lambda y: y.square().mean(),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_products_add_up_in_fp32(dtype):
    a, b = (torch.randn(64, 512, generator=torch.Generator().manual_seed(i)).to(dtype) for i in (1, 2))
    exact = a.float() @ b.float().T
    a, b = a.npu(), b.npu()
    y = a @ b.T
    assert y.dtype == dtype and inside(y)
    assert equal(y.cpu(), exact.to(dtype))  # one rounding, at the end
    out = torch.empty(0, dtype=dtype, device="npu")
    torch.mm(a, b.T, out=out)
    assert equal(out, y) and inside(out)
    c = torch.ones_like(y)
    assert equal(c.addmm_(a, b.T).cpu(), (exact + 1).to(dtype))
    assert equal(torch.bmm(a[None], b.T[None])[0], y)
    image, kernel = a.reshape(2, 4, 64, 64), b.reshape(128, 4, 8, 8)
    assert F.conv2d(image, kernel).dtype == dtype


@pytest.mark.parametrize(
    "first, second", [(torch.float32, torch.float16), (torch.float16, torch.bfloat16), (torch.int32, torch.float16)]
)
@pytest.mark.parametrize(
    "product",
    [
        lambda a, b: a @ b,
        lambda a, b: torch.bmm(a[None], b[None]),
        lambda a, b: torch.addmm(a[:, :1], a, b),
        lambda a, b: torch.nn.functional.linear(a, b.T),
    ],
)
def test_a_product_of_two_types_is_refused(product, first, second):
    """A cast that is missing in a half model must not pass here and fail on the card."""
    a, b = torch.ones(3, 16, dtype=first), torch.ones(16, 4, dtype=second)
    said = []
    for where in ("cpu", "npu"):
        with pytest.raises(RuntimeError, match="(?i)dtype|scalar type") as seen:
            product(a.to(where), b.to(where))
        said.append(str(seen.value))
    assert said[0] == said[1]


def test_in_place_out_and_resize():
    x = torch.ones(3, device="npu")
    pointer = x.data_ptr()
    x.add_(1).mul_(x)
    assert x.data_ptr() == pointer and x.tolist() == [4, 4, 4]
    out = torch.empty(0, device="npu")
    assert torch.add(x, 1, out=out) is out and out.tolist() == [5, 5, 5] and inside(out)
    y = torch.arange(6.0, device="npu")
    y.resize_(2, 5)
    assert y.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5] and inside(y)
    y.untyped_storage().resize_(4096)
    assert y.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5] and inside(y)
    z = torch.empty(0, device="npu").set_(x.untyped_storage(), 1, (2,))
    assert z.tolist() == [4, 4] and z.data_ptr() == x.data_ptr() + 4
    tensors = [torch.ones(3, device="npu") for _ in range(40)]  # more than the aliases' short list
    torch._foreach_add_(tensors, 2)
    assert [t.tolist() for t in tensors] == [[3, 3, 3]] * len(tensors)


def test_views_share_memory():
    x = torch.arange(16.0, device="npu").reshape(4, 4)
    x.T[0, 1] = 99
    x.unfold(0, 2, 1)[2, 3, 1] = 7
    x.diagonal().fill_(5)
    assert x[1, 0].item() == 99 and x[3, 3].item() == 5 and x[1, 1].item() == 5
    assert torch.view_as_complex(x.reshape(4, 2, 2))[0, 0].real.item() == 5
    assert x.view(torch.int32).data_ptr() == x.data_ptr()
    a = torch.ones(3, device="npu")
    with pytest.raises(RuntimeError, match="unsupported operation"):
        a.expand(2, 3).add_(1)


# ---- moving and saving


def test_to_and_back():
    assert torch.ones(2).npu().device == torch.ones(2).to("npu").device == torch.device("npu", 0)
    assert nn.Linear(2, 2).npu().weight.device.type == "npu"
    with torch.device("npu"):
        assert torch.ones(2).device.type == "npu" and nn.Linear(2, 2).weight.device.type == "npu"
    z = torch.ones(3, device="npu").type(torch.complex64).conj()
    assert z.is_conj() and torch.equal(z.cpu(), torch.ones(3, dtype=torch.complex64))
    assert torch.ones(2).pin_memory().is_pinned()


def test_save_load_copy():
    model = nn.Linear(3, 3).npu()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)

    def load(**how):
        file.seek(0)
        return torch.load(file, **how)["weight"]

    assert load().device.type == "npu" and inside(load()) and load(map_location="cpu").device.type == "cpu"
    assert equal(load(), model.weight) and load(map_location="npu:0", weights_only=True).device.type == "npu"
    twin = copy.deepcopy(model)
    assert twin.weight.device.type == "npu" and twin.weight.data_ptr() != model.weight.data_ptr()
    x = torch.ones(3, device="npu")
    assert equal(pickle.loads(pickle.dumps(x)), x)


# ---- random numbers


def test_seeds_repeat():
    def draw():
        x = torch.ones(1000, device="npu")
        return [
            torch.randn(7, device="npu"),
            F.dropout(x),
            torch.rand(3, device="npu"),
            torch.randperm(9, device="npu"),
            torch.multinomial(x, 5),
            x.clone().normal_(),
            torch.normal(x, 1.0),
            torch.bernoulli(x / 2),
        ]

    for seed in (torch.manual_seed, torch.npu.manual_seed, torch.npu.manual_seed_all):
        seed(5)
        first = draw()
        seed(5)
        assert [torch.equal(a, b) for a, b in zip(first, draw())] == [True] * len(first), "other random numbers"
    state = torch.npu.get_rng_state()
    a = torch.rand(4, device="npu")
    torch.npu.set_rng_state(state)
    assert equal(a, torch.rand(4, device="npu")) and not torch.equal(a, torch.rand(4, device="npu"))


def test_the_cpu_sequence_is_left_alone():
    def cpu_draws(between):
        torch.manual_seed(3)
        a = torch.randn(3)
        between()
        return torch.cat([a, torch.randn(3)])

    def npu_draws():
        F.rrelu(torch.randn(5, device="npu"), training=True)
        torch.poisson(torch.ones(5, device="npu"))

    assert equal(cpu_draws(lambda: None), cpu_draws(npu_draws))


def test_generators():
    g = torch.Generator("npu")
    first, again = (torch.rand(3, device="npu", generator=g.manual_seed(1)) for _ in range(2))
    assert equal(first, again)
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        torch.rand(3, device="npu", generator=torch.Generator())
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(3, device="npu")


@pytest.mark.parametrize("first", ["labkit.device.install()", "import torch", "labkit.kernel('kernels/add/add.asc')"])
def test_the_device_is_installed_once_whoever_comes_first(first):
    """torch's import installs it as well, also when the installation is what imports torch."""
    text = f"import labkit\n{first}\nimport torch\nprint(labkit.device.install(), torch.ones(2).npu().device)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=paths.repo_root())
    assert (done.stdout, done.returncode) == ("sim npu:0\n", 0), done.stderr


@pytest.mark.parametrize("number", [99, -2])
def test_a_device_that_is_not_there_is_refused_by_whoever_is_asked(number):
    """By each on its own: memory behind the last device is somebody else's, and its streams are none."""
    npu, accelerator = torch.npu, torch.accelerator
    for ask in (npu.synchronize, npu.current_stream, npu.default_stream, npu.Stream):
        with pytest.raises(RuntimeError, match="no npu"):
            ask(number)
    for ask in (npu.get_device_properties, npu.get_device_name, lambda i: npu.can_device_access_peer(0, i)):
        with pytest.raises(AssertionError, match="no npu"):
            ask(number)
    if hasattr(accelerator, "memory_stats") and number > 0:
        for ask in (accelerator.memory_stats, accelerator.memory_allocated, accelerator.reset_peak_memory_stats):
            with pytest.raises(RuntimeError, match="no device 99"):
                ask(number)
    assert npu.device_count() == 1 and torch.ones(2, device="npu").sum().item() == 2


def test_a_number_that_is_no_streams_handle():
    stream = torch.npu.Stream()
    assert torch.npu.ExternalStream(stream.npu_stream) == stream
    assert torch.npu.ExternalStream(0) == torch.npu.default_stream()
    for handle in (99 << 32 | 1, -1, 1 << 31, 1 << 20):
        with pytest.raises(RuntimeError, match="no stream|no npu"):
            torch.npu.ExternalStream(handle)
    from_outside = torch.Stream(stream_id=-1, device_index=0, device_type=20)
    for use in (from_outside.synchronize, from_outside.query, lambda: torch.npu.Event().record(from_outside)):
        with pytest.raises(RuntimeError, match="no stream -1"):
            use()


def test_settings_are_checked_as_torch_npu_does():
    torch.npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype", "MM_BMM_ND_ENABLE": "disable"})
    assert torch.npu.get_mm_bmm_format_nd() is False
    torch.npu.set_option({"MM_BMM_ND_ENABLE": "enable", "ACL_AICORE_NUM": 20})
    assert torch.npu.get_mm_bmm_format_nd() is True
    for option, error in (
        ("text", TypeError),
        ({"ACL_PRECISION_MODE": "allow_fp32_to_fp32"}, ValueError),
        ({"ACL_AICORE_NUM": 33}, ValueError),
        ({"ACL_OP_SELECT_IMPL": "high_precision"}, RuntimeError),
    ):
        with pytest.raises(error, match="must be a dict|should be in|invalid npu option name"):
            torch.npu.set_option(option)
    for asked in (torch.npu.memory_allocated, torch.npu.max_memory_reserved, torch.npu.reset_peak_memory_stats):
        with pytest.raises(RuntimeError, match="Invalid device argument|无效"):
            asked("npu:63")
    with pytest.raises(TypeError, match="fraction"):
        torch.npu.set_per_process_memory_fraction(1)


def test_deterministic_from_here_to_there():
    try:
        x = torch.ones(2, device="npu", requires_grad=True)
        y = torch.npu.enable_deterministic_with_backward(x * 2)
        assert torch.are_deterministic_algorithms_enabled()
        y = torch.npu.disable_deterministic_with_backward(y * 3)
        assert not torch.are_deterministic_algorithms_enabled()
        seen = []
        y.register_hook(lambda g: seen.append(torch.are_deterministic_algorithms_enabled()))
        y.sum().backward()
        assert not torch.are_deterministic_algorithms_enabled() and x.grad.tolist() == [6, 6]
    finally:
        torch.use_deterministic_algorithms(False)


def test_packages_of_torch_npu():
    import torch_npu.contrib.function
    import torch_npu.npu.memory
    import torch_npu.npu.utils
    from torch._dynamo.device_interface import get_interface_for_device

    assert torch_npu.npu.utils.npu_check_overflow(torch.tensor([float("inf")])) is True
    one, two = torch.tensor([[0.0, 0, 10, 10]]).npu(), torch.tensor([[0.0, 0, 10, 20]]).npu()
    torch.testing.assert_close(torch_npu.contrib.function.npu_giou(one, two).cpu(), torch.tensor([[0.5]]))
    iou = torch_npu.contrib.function.npu_iou(one, two, mode="iou", is_normalized=True)
    torch.testing.assert_close(iou.cpu(), torch.tensor([[0.5]]))
    with pytest.raises(TypeError, match="condition"):
        torch_npu.contrib.function.npu_fast_condition_index_put(one, one, 0)
    interface = get_interface_for_device("npu")
    assert interface.device_count() == torch.npu.device_count() and interface.current_device() == 0


def test_transfer_by_the_environment():
    program = "import labkit, torch; print(torch.ones(2, device='cuda').device)"
    import os
    import subprocess
    import sys

    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TORCH_TRANSFER_TO_NPU": "1"},
                         capture_output=True, text=True)  # fmt: skip
    assert ran.stdout.strip() == "npu:0", ran.stderr


# ---- where there is no device


@pytest.mark.parametrize(
    "words, said", [("LABKIT_CACHE=FILE/in", "FILE is a file"), ("CXX=no-such-g++", "no-such-g++")]
)
def test_why_there_is_none_is_said_where_it_is_asked_for_and_a_second_try_works(tmp_path, words, said):
    (tmp_path / "file").touch()
    name, _, value = words.replace("FILE", str(tmp_path / "file")).partition("=")
    code = f"""
import os, torch, labkit.device
for x in torch.ones(2), torch.nn.Linear(2, 2):
    try:
        x.npu()
    except RuntimeError as error:
        print(error)
del os.environ[{name!r}]
os.environ["LABKIT_CACHE"] = {str(paths.cache_dir())!r}
labkit.device.install()
print(torch.ones(2).npu().device)
"""
    words = {k: v for k, v in os.environ.items() if k != "CXX"} | {"PYTHONPATH": str(paths.import_root())}
    words |= {"LABKIT_DEVICE": "sim", "LABKIT_CACHE": str(tmp_path / "new"), name: value}
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=words, capture_output=True, text=True)
    *why, last = run.stdout.splitlines()
    assert last == "npu:0" and len(why) == 2, run.stderr
    assert all(said.replace("FILE", str(tmp_path / "file")) in line and "labkit doctor" in line for line in why)


# ---- steps behind an import


def test_a_step_waits_for_the_import_and_not_for_who_only_looks(tmp_path, monkeypatch):
    from labkit.device.import_hook import after_import

    (tmp_path / "comes_later.py").write_text("import os\nif 'FAILS' in os.environ: raise RuntimeError('not now')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, done = list(sys.meta_path), []
    after_import("comes_later", lambda module: done.append("one"))
    after_import("comes_later", lambda module: done.append("other"))
    assert importlib.util.find_spec("comes_later").origin.endswith("comes_later.py") and not done
    monkeypatch.setenv("FAILS", "1")
    with pytest.raises(RuntimeError, match="not now"):
        import comes_later
    monkeypatch.delenv("FAILS")
    import comes_later  # noqa: F811

    assert sorted(done) == ["one", "other"] and sys.meta_path == before
    assert type(comes_later.__loader__).__name__ == type(comes_later.__spec__.loader).__name__ == "SourceFileLoader"
    del sys.modules["comes_later"]


def test_who_looks_for_torch_before_importing_it_has_the_device():
    """As transformers and accelerate do."""
    code = "import labkit, importlib.util; importlib.util.find_spec('torch'); import torch; print(torch.ones(2).npu().device)"
    words = os.environ | {"PYTHONPATH": str(paths.import_root()), "LABKIT_DEVICE": "sim"}
    run = subprocess.run([sys.executable, "-c", code], env=words, capture_output=True, text=True)
    assert run.stdout.strip() == "npu:0", run.stderr


def test_why_there_is_no_device_is_said_in_the_language_in_force(monkeypatch):
    from labkit.device import import_hook

    def gone():
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr(import_hook.os, "getcwd", gone)
    for language, word in (("en", "the current folder has been deleted"), ("zh", "当前目录")):
        monkeypatch.setenv("LABKIT_LANG", language)
        with pytest.raises(FileNotFoundError, match=word):
            import_hook.look_at_place()


def test_the_first_function_of_a_vector_is_one_thread_s():
    """Two threads at once set MKL's vector functions up wrongly: seen in one of 200 processes on a busy machine."""
    code = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode

class Seen(TorchDispatchMode):
    calls = []
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append((function._schema.name, [(a.numel(), a.device.type) for a in args if hasattr(a, "numel")]))
        return function(*args, **kwargs or {})

from labkit import device
import os
assert device.mode() is None
del os.environ["LABKIT_DEVICE"]
with Seen():
    device.install()
functions = [call for call in Seen.calls if call[0] in ("aten::exp", "aten::log", "aten::erf", "aten::tanh", "aten::sin")]
assert functions == [("aten::exp", [(1, "cpu")])], Seen.calls
"""
    words = {**os.environ, "LABKIT_DEVICE": "none"}
    run = subprocess.run([sys.executable, "-c", code], env=words, capture_output=True, text=True, cwd=paths.repo_root())
    assert run.returncode == 0, run.stderr
