"""The compiler half of the back end: Triton's own front end and passes, then Ascend C instead of a GPU's code."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from types import ModuleType

from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget

from labkit.triton.program import lower
from labkit.triton.ttir import read
from labkit.triton.windows import windows

# what triton-ascend's documentation lists for its own compiler: taken, as tuned kernels pass it, and left unused
ASCEND = (
    "multibuffer enable_ubuf_saving enable_preload limit_auto_multi_buffer_only_for_local_buffer unit_flag sync_solver "
    "limit_auto_multi_buffer_of_local_buffer set_workspace_multibuffer disable_tightly_coupled_buffer_reuse "
    "enable_hivm_auto_cv_balance inject_barrier_all inject_block_all disable_auto_inject_block_sync enable_mixed_cv "
    "tile_mix_vector_loop tile_mix_cube_loop enable_vf_fusion enable_drop_unit_dims enable_flatten auto_blockify_size "
    "vf_merge_level enable_select_analysis add_auto_scheduling optimize_epilogue enable_persistent storage_align "
    "enable_warp_specialization shared_mem_dynamic_size ops_reorder code_motion force_simt_only "
    "auto_tile_and_bind_subblock optimize_dynamic_offset enable_sync_block_lock enable_nd2nz_on_vector "
    "enable_auto_bind_sub_block"
).split()


@dataclass(frozen=True)
class Known:
    """The names that Triton's JITFunction reads; warps and stages mean nothing here and are taken and left unused."""

    num_warps: int = 1
    num_ctas: int = 1
    num_stages: int = 2
    warp_size: int = 1
    cluster_dims: tuple = (1, 1, 1)
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    debug: bool = False
    sanitize_overflow: bool = False
    backend_name: str = "ascendc"
    arch: str = "910B"
    extern_libs: tuple = ()
    supported_fp8_dtypes: tuple = ()
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple = ("ieee", "tf32")  # both: the cube multiplies float32 as it is
    max_num_imprecise_acc_default: int = 0
    instrumentation_mode: str = ""
    ir_override: str | None = None
    allow_fp8e4nv: bool = False
    waves_per_eu: int = 0  # of other chips' back ends, which tuned configurations carry along
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    maxnreg: int | None = None

    def hash(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()


Options = make_dataclass("Options", [(n, object, None) for n in ASCEND], bases=(Known,), frozen=True)


@functools.cache  # Triton asks for it at each compilation; what is imported does not change with its file
def _own_digest() -> str:
    here = Path(__file__).parent
    shared = [here.parent / "codegen" / name for name in ("helpers.py", "places.py", "lines.py")]
    whole = b"".join(p.read_bytes() for p in [*sorted(here.glob("*.py")), *shared])
    return hashlib.sha256(whole).hexdigest()


class AscendCBackend(BaseBackend):
    binary_ext = "asc"
    supports_native_tensor_specialization = False  # that one asks the tensor for its pointer in C++

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "npu"

    def hash(self) -> str:
        """Of everything that the text depends on: Triton's cache would serve a stale one."""
        return _own_digest()

    def parse_options(self, options: dict) -> Options:
        known = Options.__dataclass_fields__
        return Options(**{k: v for k, v in options.items() if k in known and v is not None})

    def pack_metadata(self, metadata):
        return metadata

    def get_codegen_implementation(self, options) -> dict:
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1), "convert_custom_types": lambda *a, **_: a[0]}

    def get_module_map(self) -> dict[str, ModuleType]:
        from labkit.triton import cann

        return {"triton.language.extra.libdevice": cann.libdevice(), "triton.language": cann.language()}

    def load_dialects(self, context) -> None:
        pass

    def add_stages(self, stages: dict, options: Options, language=None) -> None:
        stages["ttir"] = lambda module, metadata: _ttir(module)
        stages["asc"] = _asc


def _ttir(module):
    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")
    return module


def _asc(module, metadata: dict) -> bytes:
    lowered = lower(lambda: windows(read(module)))
    metadata.update(name=lowered.name, shared=lowered.ub, cores=lowered.cores, workspace=lowered.workspace)
    return lowered.text.encode()
