"""torch.compile with its default backend on the simulated npu: Inductor writes Triton, labkit.triton lowers it.

What is registered by PyTorch's own hooks: the device's interface, TritonScheduling with one note added (Scheduling),
the Python wrapper, words of the wrapper (Words), a benchmarker that reads the clock, a key of the caches.

What is set from outside (touch, _touch_inductor, blocks.touch), for the tested PyTorch (TESTED):
  1. torch._inductor.compile_fx.compile_fx            our settings and the fall back, where a tensor lies on npu
     ... .select_decomp_table                         while it runs: without the operators of WHOLE
  2. torch._inductor.utils.GPU_TYPES, get_gpu_type    npu is one of them
  3. torch.utils._triton.has_triton                   its table of devices is fixed; also where it was imported to
  4. torch._inductor.graph.fallback_node_due_to_unsupported_type   nodes that shall stay ATen
  5. torch._inductor.runtime.triton_heuristics.cached_autotune     block sizes for UB (blocks.py)
  6. torch._inductor.lowering.use_two_step_variance   a variance by two sums: Welford's triples suit no vector unit
  7. CachingAutotuner._precompile_config              smaller blocks while UB is exceeded; a name for what is refused
  8. torch._inductor.lowering.lowerings               of index_put_ and _unsafe_index_put_: ATen's, in place
  9. torch._inductor.utils.log                        without its warning that there are too few SMs: there are none

A kernel that labkit.triton refuses does not end the program: the operators that it was made of stay ATen, with one
warning that names them, and the graph is compiled again; where that does not help, the whole graph runs operator by
operator.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import sys
import warnings
from unittest import mock

from labkit import messages

TESTED = "2.13"
MOST_TRIES = 24
ONE_TILE = 4096  # elements
SETTINGS = {
    "compile_threads": 1,  # its workers know no simulated device
    "triton.autotune_at_compile_time": False,
    "triton.cudagraphs": False,
    "use_static_triton_launcher": False,
    "triton.prefer_nd_tiling": True,  # quotients and remainders in an address become a dimension of the tile
    "triton.max_tiles": 2,
    "split_reductions": False,  # its pieces are addressed by remainders
    "layout_optimization": False,
    "comprehensive_padding": False,
    "assert_indirect_indexing": False,
    "combo_kernels": False,
    "fallback_random": True,  # dropout draws what it draws without torch.compile
    "triton.codegen_upcast_to_fp32": True,
}  # a setting of the program's own (options=...) goes first
HARD = (
    "sum mean var amax amin argmax argmin prod any all norm softmax cumsum cumprod sort topk gather index scatter "
    "embedding rand bernoulli max_pool avg_pool upsample bucketize"
).split()
WHOLE = (
    "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional native_batch_norm_backward "
    "_native_batch_norm_legit_no_training batch_norm_backward _batch_norm_with_update "
    "_batch_norm_with_update_functional _batch_norm_no_update nll_loss_forward nll_loss_backward nll_loss2d_forward "
    "nll_loss2d_backward max_pool2d_with_indices max_pool2d_with_indices_backward embedding_dense_backward avg_pool2d "
    "avg_pool2d_backward _adaptive_avg_pool2d _adaptive_avg_pool2d_backward index_put scatter_add scatter "
    "scatter_reduce index_add upsample_nearest1d upsample_nearest2d "
    "upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d "
    "_upsample_bilinear2d_aa _upsample_bicubic2d_aa native_group_norm native_group_norm_backward "
    "native_dropout native_dropout_backward grid_sampler_2d reflection_pad2d replication_pad2d im2col col2im "
    "median mode histc unfold_backward convolution convolution_backward"
)
VIEWS = (
    "view _unsafe_view reshape _reshape_alias expand permute transpose squeeze unsqueeze slice select alias clone full "
    "iota _to_copy"
).split()
_refused: list[tuple[str, Exception]] = []  # (kernel, why), while a graph is compiled
_origins: dict[str, dict[str, object]] = {}  # of each kernel: the nodes that it computes, by name
_stay: set[str] = set()  # names of nodes that stay ATen, in the graph that is compiled now
_note: tuple[tuple[str, ...], str] = ((), "")  # their operators, and why
fallen: list[tuple[str, ...]] = []  # what fell back, for tests and tables: names of operators; ("graph", why)


class RefusedKernel(RuntimeError):
    """A kernel that Inductor wrote and labkit.triton does not take."""


def absent() -> str:
    """Why Inductor cannot write kernels here; "" where it can."""
    from labkit import triton as plugin

    try:
        plugin.install()
    except ImportError as error:
        return str(error)
    from labkit.triton.driver import AscendCDriver

    return "" if AscendCDriver.is_active() else messages.text("triton.inductor_gpu")


def touch(compile_fx) -> None:
    """Has torch.compile's default backend write kernels for npu."""
    import torch

    inner = compile_fx.compile_fx

    @functools.wraps(inner)
    def wrapped(graph, example_inputs, inner_compile=compile_fx.compile_fx_inner, config_patches=None, **named):
        if not _on_npu(graph, example_inputs) or isinstance(inner_compile, Falling):
            return inner(graph, example_inputs, inner_compile, config_patches, **named)
        why = absent()
        if not why and not torch.__version__.startswith(TESTED + "."):
            why = messages.text("triton.inductor_version", tested=TESTED, found=torch.__version__)
        if why:
            raise NotImplementedError(messages.text("triton.inductor_absent", why=why))
        register()
        patches = SETTINGS | (config_patches or {})
        config = sys.modules["torch._inductor.config"]
        with config.patch(patches), mock.patch.object(compile_fx, "select_decomp_table", decompositions):
            return inner(graph, example_inputs, Falling(inner_compile, patches), None, **named)

    compile_fx.compile_fx = wrapped


@functools.cache
def whole() -> frozenset:
    """Operators that ATen runs as one: taken apart they would be ten, or address by a remainder or a loaded index."""
    import torch

    packets = (getattr(torch.ops.aten, name, None) for name in WHOLE.split())
    return frozenset(p for p in packets if p is not None)


@functools.cache
def _decompositions() -> dict:
    from torch._inductor.decomposition import decompositions as known

    return {op: f for op, f in known.items() if getattr(op, "overloadpacket", op) not in whole()}


def decompositions() -> dict:
    """A function with a name, by which the cache of compiled graphs knows it."""
    return _decompositions()


def _on_npu(graph, example_inputs) -> bool:
    tensors = [*example_inputs]
    if hasattr(graph, "parameters"):
        tensors += [*graph.parameters(), *graph.buffers()]
    if any(getattr(getattr(t, "device", None), "type", "") == "npu" for t in tensors):
        return True
    nodes = graph.graph.nodes if hasattr(graph, "graph") else ()  # a program that makes its tensors itself
    return any(str(v).startswith("npu") for n in nodes for v in (*n.args, *n.kwargs.values()) if not _is_node(v))


def _is_node(v) -> bool:
    return hasattr(v, "all_input_nodes")


# ---- registered by PyTorch's own hooks


class Properties:
    """What Inductor's heuristics ask a device for. A core has no threads: numbers that neither cut nor grow."""

    def __init__(self):
        import torch

        from labkit.triton.driver import cores

        self.name, self.major, self.minor = "Ascend", 9, 0
        self.multi_processor_count, self.warp_size = cores("vector"), 32
        self.max_threads_per_multi_processor, self.regs_per_multiprocessor = 2048, 1 << 16
        self.max_threads_per_block = 1024
        self.total_memory = torch.npu.get_device_properties().total_memory


@functools.cache
def register() -> None:
    import torch
    from torch._dynamo import device_interface
    from torch._inductor.codegen import common
    from torch._inductor.runtime import benchmarking

    from labkit import chips
    from labkit.triton.driver import do_bench
    from labkit.triton.inductor import blocks

    known = device_interface.get_interface_for_device("npu")

    class Worker(known.Worker):
        get_device_properties = staticmethod(lambda device=None: Properties())

    given = {
        "Worker": Worker,
        "get_device_properties": staticmethod(lambda device=None: Properties()),
        "get_compute_capability": staticmethod(lambda device=None: chips.chosen()),
        "get_raw_stream": staticmethod(raw_stream),
        "exchange_device": staticmethod(exchange_device),
        "maybe_exchange_device": staticmethod(exchange_device),
        "is_triton_capable": staticmethod(lambda device=None: True),
        "raise_if_triton_unavailable": staticmethod(lambda device=None: None),
    }
    interface = type("NpuTritonInterface", (known,), given)
    for device in ("npu", *(f"npu:{i}" for i in range(torch.npu.device_count()))):
        device_interface.register_interface_for_device(device, interface)
    words = type("Words", (common.DeviceOpOverrides,), WORDS)
    common.register_device_op_overrides("npu", words())
    common.register_backend_for_device("npu", _scheduling(), _wrapper(), device_custom_pass=_key())
    if "npu" not in benchmarking.GPU_BENCHMARK_DEVICE_TYPES:
        benchmarking.GPU_BENCHMARK_DEVICE_TYPES += ("npu",)
    # Warm: in a model a kernel mostly reads what the one before it has just written.
    benchmarking.register_benchmarker("npu", lambda self, call, **_: do_bench(call, cold=False), override=True)
    _touch_inductor()
    blocks.touch(RefusedKernel, _refused, lambda kernel: len(_work(kernel)))


def raw_stream(index: int = 0) -> int:
    return 0


def exchange_device(index: int) -> int:
    import torch

    before = torch.npu.current_device()
    if index >= 0:
        torch.npu.set_device(index)
    return before


WORDS = {
    "import_get_raw_stream_as": lambda self, name: f"from labkit.triton.inductor import raw_stream as {name}",
    "set_device": lambda self, index: f"torch.npu.set_device({index})",
    "synchronize": lambda self: "torch.npu.synchronize()",
    "device_guard": lambda self, index: f"torch.npu.device({index})",
    "current_stream": lambda self: "torch.npu.current_stream()",
}  # of the Python that Inductor writes around its kernels


def _scheduling():
    from torch._inductor.codegen.common import BackendFeature
    from torch._inductor.codegen.triton import TritonKernel, TritonScheduling
    from torch._inductor.virtualized import V

    class OneTile(TritonKernel):
        """A row that fits in UB several times is reduced in one piece: registers would hold a quarter of that."""

        def should_use_persistent_reduction(self) -> bool:
            inner = "INNER" in str(self.features.get_reduction_hint())
            known = V.graph.sizevars.statically_known_leq
            fits = inner and self.inside_reduction and known(self.features.reduction_numel, ONE_TILE)
            return bool(fits) or super().should_use_persistent_reduction()

    class Scheduling(TritonScheduling):
        """Inductor's own, with a note of which nodes each kernel computes."""

        kernel_type = OneTile
        backend_features = TritonScheduling.backend_features - {
            BackendFeature.FOREACH, BackendFeature.SCAN, BackendFeature.SORT, BackendFeature.BUCKETIZE,
        }  # fmt: skip

        def define_kernel(self, src_code, node_schedule, kernel):
            name = super().define_kernel(src_code, node_schedule, kernel)
            nodes = (getattr(n, "node", None) for n in node_schedule)
            origins = {o for n in nodes if n is not None for o in n.get_origins()}
            _origins[name] = {o.name: o for o in origins if o.op == "call_function"}
            return name

    return Scheduling


def _wrapper():
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen

    class Wrapper(PythonWrapperCodegen):
        """Inductor's own, which says itself what stays ATen: a graph that a cache kept says so too."""

        @staticmethod
        def create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures=None):
            given = is_subgraph, subgraph_name, parent_wrapper, partition_signatures
            return PythonWrapperCodegen.create(*given) if is_subgraph else Wrapper()

        def generate_after_suffix(self, result) -> None:
            super().generate_after_suffix(result)
            if _note[0]:
                result.splice(f"\n\nfrom labkit.triton.inductor import stays_aten\n\nstays_aten{_note!r}\n")

    return Wrapper


def _key():
    from torch._inductor.custom_graph_pass import CustomGraphModulePass

    from labkit.triton.compiler import AscendCBackend

    class Key(CustomGraphModulePass):
        """Changes nothing; its key makes the caches of compiled graphs forget what another labkit wrote, or said in
        another language.
        """

        def __call__(self, graph) -> None:
            pass

        def uuid(self):
            return f"{AscendCBackend.hash(None)} {messages.language()}"

    return Key()


def _no_word_of_sms(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Not enough SMs")


def _touch_inductor() -> None:
    import torch
    import torch._inductor.graph as graph
    from torch._inductor import inductor_prims, lowering, utils
    from torch.utils import _triton

    if "npu" not in utils.GPU_TYPES:
        utils.GPU_TYPES.append("npu")
    utils.get_gpu_type.cache_clear()
    utils.log.addFilter(_no_word_of_sms)
    old = _triton.has_triton

    @functools.cache
    def has_triton() -> bool:
        return True

    for name, module in list(sys.modules.items()):
        if name.startswith("torch.") and vars(module).get("has_triton") is old:
            module.has_triton = has_triton
    unsupported = graph.fallback_node_due_to_unsupported_type
    # A fall back's result counts as a buffer of its own; that of these is their first argument, and Inductor would
    # write other things there while it is still read. Inductor's own fall back for them knows.
    in_place = [torch.ops.aten.index_put_.default, inductor_prims._unsafe_index_put_]
    for operator in in_place:
        lowering.lowerings[operator] = _puts_in_place(lowering, lowering.lowerings[operator])

    def stays(node, **named) -> bool:
        value = node.meta.get("val")
        value = value[0] if isinstance(value, (tuple, list)) and value else value
        ours = getattr(getattr(value, "device", None), "type", "") == "npu"
        kept = node.name in _stay or getattr(node.target, "overloadpacket", None) in whole()
        return (ours and kept and node.target not in in_place) or unsupported(node, **named)

    graph.fallback_node_due_to_unsupported_type = stays
    two_steps = lowering.use_two_step_variance

    def use_two_step_variance(x, *args, **named):
        return x.get_device().type == "npu" or two_steps(x, *args, **named)

    lowering.use_two_step_variance = use_two_step_variance


def _puts_in_place(lowering, old):
    @functools.wraps(old)
    def put(into, indices, values, accumulate=False):
        if into.get_device().type != "npu":
            return old(into, indices, values, accumulate)
        return lowering.index_put_fallback(into, indices, values, accumulate)

    return put


# ---- the fall back


class Falling:
    """Compiles a graph; what labkit.triton refuses stays ATen."""

    def __init__(self, compile_inner, patches: dict):
        self.compile_inner, self.patches = compile_inner, patches

    def __call__(self, graph, example_inputs, **named):
        import torch
        from torch._inductor import config

        keep: dict[str, object] = {}
        why = None
        for _ in range(MOST_TRIES):
            again = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
            again.meta = dict(graph.meta)
            statistics_in_place(again.graph)
            _refused.clear()
            _origins.clear()
            try:
                with config.patch(self.patches), staying(keep, why):
                    return self.compile_inner(again, example_inputs, **named)
            except Exception as error:
                if not _refused and not type(error).__module__.startswith("torch._inductor.exc"):
                    raise
                kernel, why = _refused[-1] if _refused else ("", error)
                more = {name: n for name, n in _origins.get(kernel, {}).items() if name not in keep}
                if not more:
                    break
                keep |= {name: n for name, n in more.items() if hard(n)} or more
        first = first_line(why)
        fallen.append(("graph", first))
        warnings.warn(messages.text("triton.inductor_graph", why=first), stacklevel=2)
        from torch._functorch._aot_autograd.utils import make_boxed_func

        return make_boxed_func(graph.forward)


def statistics_in_place(graph) -> None:
    """A batch norm writes its running statistics itself, as without torch.compile: the functional one returns new ones
    beside clones of the old, which are copied back, four launches more. Backward takes them along and in training does
    not read them: there the batch's own stand for them."""
    import operator

    import torch

    aten = torch.ops.aten
    for node in graph.find_nodes(op="call_function", target=aten._native_batch_norm_legit_functional.default):
        outs = {u.args[1]: u for u in node.users if u.target is operator.getitem}
        if not node.args[5] or len(outs) < 5:
            continue
        copies = [next((u for u in outs[i].users if u.target is aten.copy_.default), None) for i in (3, 4)]
        if all(
            copy is not None and copy.args[:2] == (node.args[i], outs[i]) and not copy.users
            and set(node.args[i].users) == {node, copy} and all(u is copy or u.op == "output" for u in outs[i].users)
            for i, copy in zip((3, 4), copies)
        ):  # fmt: skip
            node.target, node.meta["val"] = aten._native_batch_norm_legit.default, node.meta["val"][:3]
            for i, copy in zip((3, 4), copies):
                graph.erase_node(copy)
                outs[i].replace_all_uses_with(outs[i - 2])
                graph.erase_node(outs[i])


@contextlib.contextmanager
def staying(nodes: dict, why):
    """nodes: by name, those that stay ATen; why: what the first of them was refused for."""
    global _stay, _note
    before = _stay, _note
    names = sorted({str(n.target).removesuffix(".default") for n in nodes.values()})
    _stay, _note = set(nodes), (tuple(names), first_line(why))
    try:
        yield
    finally:
        _stay, _note = before


def first_line(why) -> str:
    return (str(why).strip() or type(why).__name__).splitlines()[0]


def hard(node) -> bool:
    """What vector instructions of floats do not do: these stay ATen first, what is fused with them is tried again."""
    value = node.meta.get("val")
    whole = hasattr(value, "dtype") and not value.dtype.is_floating_point and str(value.dtype) != "torch.bool"
    return whole or any(word in str(node.target) for word in HARD)


def _work(kernel: str) -> list:
    """The nodes of a kernel that are launches of their own without it."""
    nodes = _origins.get(kernel, {}).values()
    return [n for n in nodes if str(n.target).removeprefix("aten.").partition(".")[0] not in VIEWS]


def stays_aten(names: tuple[str, ...], why: str) -> None:
    """Called by what Inductor wrote, once a process: where a cache kept the graph nothing is compiled."""
    fallen.append(names)
    warnings.warn(messages.text("triton.inductor_nodes", names=", ".join(names), why=why), stacklevel=2)
