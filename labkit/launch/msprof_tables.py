"""A launch in the tables of `msprof op`: its file names, its columns, one row for each core of each block.

Contract. What the twin does not model is missing (NA), never a figure that stands in for one. KB and GB are 1024 bytes
and 2^30 bytes, as in published files. frame.attrs["time_kind"] says that the numbers are modelled; the file formats
have no place for it, so `save` puts a README.txt beside them.
"""

from __future__ import annotations

from labkit import chips
from labkit.messages import text

# ---- the columns, as `metric_csv_header.h` of Ascend/msopprof (2026-08) has them for 910B

_HEADERS = {
    "ArithmeticUtilization": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_ratio,aic_cube_fp16_ratio,aic_cube_int8_ratio,aic_cube_fops,"
        "aic_cube_total_instr_number,aic_cube_fp_instr_number,aic_cube_int_instr_number,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,"
        "aiv_vec_fp32_ratio,aiv_vec_fp16_ratio,aiv_vec_int32_ratio,aiv_vec_int16_ratio,aiv_vec_misc_ratio,aiv_vec_fops"
    ),
    "L2Cache": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_write_cache_hit,aic_write_cache_miss_allocate,aic_r0_read_cache_hit,"
        "aic_r0_read_cache_miss_allocate,aic_r1_read_cache_hit,aic_r1_read_cache_miss_allocate,aic_write_hit_rate(%),aic_read_hit_rate(%),"
        "aic_total_hit_rate(%),aiv_time(us),aiv_total_cycles,aiv_write_cache_hit,aiv_write_cache_miss_allocate,aiv_r0_read_cache_hit,"
        "aiv_r0_read_cache_miss_allocate,aiv_r1_read_cache_hit,aiv_r1_read_cache_miss_allocate,aiv_write_hit_rate(%),aiv_read_hit_rate(%),"
        "aiv_total_hit_rate(%)"
    ),
    "Memory": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_l1_read_bw(GB/s),aic_l1_write_bw(GB/s),aic_main_mem_read_bw(GB/s),"
        "aic_main_mem_write_bw(GB/s),aic_mte1_instructions,aic_mte1_ratio,aic_mte2_instructions,aic_mte2_ratio,aic_mte3_instructions,"
        "aic_mte3_ratio,aiv_time(us),aiv_total_cycles,aiv_ub_to_gm_bw(GB/s),aiv_gm_to_ub_bw(GB/s),aiv_main_mem_read_bw(GB/s),"
        "aiv_main_mem_write_bw(GB/s),aiv_mte2_instructions,aiv_mte2_ratio,aiv_mte3_instructions,aiv_mte3_ratio,read_main_memory_datas(KB),"
        "write_main_memory_datas(KB),GM_to_L1_datas(KB),GM_to_L1_bw_usage_rate(%),L1_to_GM_datas(KB)(estimate),"
        "L1_to_GM_bw_usage_rate(%)(estimate),L0C_to_L1_datas(KB),L0C_to_L1_bw_usage_rate(%),L0C_to_GM_datas(KB),L0C_to_GM_bw_usage_rate(%),"
        "GM_to_UB_datas(KB),GM_to_UB_bw_usage_rate(%),UB_to_GM_datas(KB),UB_to_GM_bw_usage_rate(%)"
    ),
    "MemoryL0": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_l0a_read_bw(GB/s),aic_l0a_write_bw(GB/s),aic_l0b_read_bw(GB/s),"
        "aic_l0b_write_bw(GB/s),aic_l0c_read_bw_cube(GB/s),aic_l0c_write_bw_cube(GB/s),aiv_time(us),aiv_total_cycles"
    ),
    "MemoryUB": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_ub_read_bw_vector(GB/s),"
        "aiv_ub_write_bw_vector(GB/s),aiv_ub_read_bw_scalar(GB/s),aiv_ub_write_bw_scalar(GB/s)"
    ),
    "PipeUtilization": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_mte1_time(us),aic_mte1_ratio,"
        "aic_mte2_time(us),aic_mte2_ratio,aic_mte3_time(us),aic_mte3_ratio,aic_mte3_active_bw(GB/s),aic_fixpipe_time(us),aic_fixpipe_ratio,"
        "aic_fixpipe_active_bw(GB/s),aic_icache_miss_rate,aic_scalar_time(us),aic_scalar_ratio,aic_scalar_single_time(us),"
        "aic_scalar_dual_time(us),aic_scalar_mte1_stall_time(us),aic_scalar_mte2_stall_time(us),aic_scalar_mte3_stall_time(us),"
        "aic_scalar_cube_stall_time(us),aic_scalar_wait_ib_time(us),aic_scalar_wait_time(us),aiv_time(us),aiv_total_cycles,aiv_vec_time(us),"
        "aiv_vec_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte2_active_bw(GB/s),aiv_mte3_time(us),aiv_mte3_ratio,aiv_mte3_active_bw(GB/s),"
        "aiv_icache_miss_rate,aiv_scalar_time(us),aiv_scalar_ratio,aiv_scalar_single_time(us),aiv_scalar_dual_time(us),"
        "aiv_scalar_mte2_stall_time(us),aiv_scalar_mte3_stall_time(us),aiv_scalar_stall_by_ub_time(us),aiv_scalar_vector_stall_time(us),"
        "aiv_scalar_wait_ib_time(us),aiv_scalar_wait_time(us)"
    ),
    "ResourceConflictRatio": (
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_wait_ratio,aic_mte1_wait_ratio,aic_mte2_wait_ratio,"
        "aic_mte3_wait_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_total_cflt_ratio,aiv_vec_bankgroup_cflt_ratio,aiv_vec_bank_cflt_ratio,"
        "aiv_vec_resc_cflt_ratio,aiv_vec_mte_cflt_ratio,aiv_vec_wait_ratio,aiv_mte2_wait_ratio,aiv_mte3_wait_ratio"
    ),
    "OpBasicInfo": "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq",
}
COLUMNS: dict[str, list[str]] = {name: header.split(",") for name, header in _HEADERS.items()}


# ---- their values

AIC = 2  # as LaunchRecord numbers the cores of a block
NAMES = {0: "vector0", 1: "vector1", AIC: "cube0"}
KB, GB = 1024.0, 2.0**30


def tables(record) -> dict:
    """{"PipeUtilization": frame, ...}. Raises ValueError for a launch without counters
    (one on a real NPU: use msprof op there).
    """
    import pandas

    if not record.cores:
        raise ValueError(text("explain.no_counters"))
    hz = chips.load(record.chip)["clock"]["hz"]
    made = {}
    for name, columns in COLUMNS.items():
        rows = [_basic(record, hz)] if name == "OpBasicInfo" else [_row(name, core, hz) for core in record.cores]
        if extra := {key for row in rows for key in row} - set(columns):
            raise AssertionError(f"{name} has no columns {sorted(extra)}")
        made[name] = pandas.DataFrame(
            [[row.get(c, pandas.NA) for c in columns] for row in rows], columns=columns, dtype=object
        )
        made[name].attrs.update(time_kind=record.time_kind, chip=record.chip, kernel=record.kernel)
    return made


def op_type(record) -> str:
    kinds = {core["core"] == AIC for core in record.cores}
    return "mix" if len(kinds) == 2 else "cube" if kinds == {True} else "vector"


def _basic(record, hz: float) -> dict:
    row = {
        "Op Name": record.kernel,
        "Op Type": op_type(record),
        "Task Duration(us)": record.time_us,
        "Block Dim": record.blocks,
        "Device Id": 0,
        "Current Freq": round(hz / 1e6),
        "Rated Freq": round(hz / 1e6),
    }
    if row["Op Type"] == "mix":
        row["Mix Block Dim"] = sum(core["core"] != AIC for core in record.cores)
    return row


def _row(name: str, core: dict, hz: float) -> dict:
    side = "aic" if core["core"] == AIC else "aiv"
    row = {
        "block_id": core["block"],
        "sub_block_id": NAMES[core["core"]],
        f"{side}_time(us)": float(core["time"]),
        f"{side}_total_cycles": round(core["time"] * hz / 1e6),
    }
    fill = {
        "PipeUtilization": _pipes,
        "ArithmeticUtilization": _arithmetic,
        "Memory": _memory,
        "L2Cache": _cache,
        "ResourceConflictRatio": _conflicts,
    }
    if name in fill:
        row |= {
            key if key.startswith(("GM_", "UB_", "L0C_", "read_main_", "write_main_")) else f"{side}_{key}": value
            for key, value in fill[name](core, side).items()
            if value is not None
        }
    return row


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _bandwidth(count: float, us: float) -> float | None:
    """GB/s; None where the pipe did nothing."""
    return count / GB / (us * 1e-6) if us else None


def _bytes(core: dict, *ways: str) -> float:
    return sum(core[f"bytes.{way}"] for way in ways)


def _pipes(core: dict, side: str) -> dict:
    pipes = (
        {"cube": "M", "mte1": "MTE1", "mte2": "MTE2", "mte3": "MTE3", "fixpipe": "FIX", "scalar": "S"}
        if side == "aic"
        else {"vec": "V", "mte2": "MTE2", "mte3": "MTE3", "scalar": "S"}
    )
    row = {}
    for name, pipe in pipes.items():
        row[f"{name}_time(us)"] = float(core[f"busy.{pipe}"])
        row[f"{name}_ratio"] = _ratio(core[f"busy.{pipe}"], core["time"])
    if side == "aic":
        row["fixpipe_active_bw(GB/s)"] = _bandwidth(_bytes(core, "from_l0c"), core["busy.FIX"])
    else:
        row["mte2_active_bw(GB/s)"] = _bandwidth(_bytes(core, "to_ub"), core["busy.MTE2"])
        row["mte3_active_bw(GB/s)"] = _bandwidth(_bytes(core, "from_ub"), core["busy.MTE3"])
    return row


def _only(counts: dict[str, float], ratio: float) -> dict[str, float]:
    """A pipe's time by type: known where its work was of one type alone."""
    some = [name for name, count in counts.items() if count]
    return {name: ratio if some == [name] else 0.0 for name in counts if len(some) < 2 or not counts[name]}


def _arithmetic(core: dict, side: str) -> dict:
    if side == "aic":
        ratio = _ratio(core["busy.M"], core["time"])
        row = {
            "cube_ratio": ratio,
            "cube_total_instr_number": core["instructions.M"],
            "cube_fops": round(cube_operations(core)),
        }
        row |= {
            key: value
            for key, value in _only(
                {"cube_fp16_ratio": core["fractals16"], "cube_int8_ratio": core["fractals8"], "": core["fractals32"]},
                ratio,
            ).items()
            if key
        }
        real, whole = core["fractals16"] + core["fractals32"], core["fractals8"]
        if not (real and whole):
            row |= {
                "cube_fp_instr_number": 0 if whole else core["instructions.M"],
                "cube_int_instr_number": core["instructions.M"] if whole else 0,
            }
        return row
    ratio = _ratio(core["busy.V"], core["time"])
    row = {"vec_ratio": ratio, "vec_fops": round(core["vector16"] + core["vector32"])}
    row |= {
        key: value
        for key, value in _only(
            {"vec_fp32_ratio": core["vector32"], "vec_fp16_ratio": core["vector16"], "": core["vector_other"]}, ratio
        ).items()
        if key
    }
    if not core["vector_other"]:  # of integers the twin counts the sum alone
        row |= {"vec_int32_ratio": 0.0, "vec_int16_ratio": 0.0, "vec_misc_ratio": 0.0}
    return row


def cube_operations(core: dict, chip: str = chips.DEFAULT) -> float:
    """Multiplications and additions of the cube."""
    k = chips.load(chip)["cube"]["k"]
    return (
        2 * 16 * 16 * (core["fractals16"] * k["half"] + core["fractals8"] * k["int8"] + core["fractals32"] * k["float"])
    )


def _memory(core: dict, side: str) -> dict:
    time = core["time"]
    read, written = _bytes(core, "to_ub", "to_l1", "to_l1_nz"), _bytes(core, "from_ub", "from_l0c")
    row = {
        "main_mem_read_bw(GB/s)": _bandwidth(read, time),
        "main_mem_write_bw(GB/s)": _bandwidth(written, time),
        "read_main_memory_datas(KB)": read / KB,
        "write_main_memory_datas(KB)": written / KB,
    }
    for pipe in ("MTE1", "MTE2", "MTE3") if side == "aic" else ("MTE2", "MTE3"):
        row[f"{pipe.lower()}_instructions"] = core[f"instructions.{pipe}"]
        row[f"{pipe.lower()}_ratio"] = _ratio(core[f"busy.{pipe}"], time)
    if side == "aic":
        return row | {
            "GM_to_L1_datas(KB)": _bytes(core, "to_l1", "to_l1_nz") / KB,
            "L0C_to_GM_datas(KB)": _bytes(core, "from_l0c") / KB,
        }
    return row | {
        "ub_to_gm_bw(GB/s)": _bandwidth(_bytes(core, "from_ub"), time),
        "gm_to_ub_bw(GB/s)": _bandwidth(_bytes(core, "to_ub"), time),
        "GM_to_UB_datas(KB)": _bytes(core, "to_ub") / KB,
        "UB_to_GM_datas(KB)": _bytes(core, "from_ub") / KB,
    }


def _cache(core: dict, _side: str) -> dict:
    """The twin counts bytes, not requests to the cache: the hit rate is that of the bytes."""
    read = core["read_hit"] + core["read_miss"]
    return {"read_hit_rate(%)": 100 * core["read_hit"] / read if read else None}


def _conflicts(core: dict, side: str) -> dict:
    return {} if side == "aic" else {"vec_total_cflt_ratio": _ratio(core["bank"], core["time"])}
