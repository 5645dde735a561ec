"""What torch_npu runs on the card: data/npu_operators.csv and data/npu_functions.csv, out of its own public sources.

    python scripts/npu_operators.py OP_PLUGIN TORCH_NPU [--torch 2.13]      writes both

OP_PLUGIN, TORCH_NPU: git repositories (bare ones too) of Ascend/op-plugin and Ascend/pytorch. Operators come from
op_plugin/config/op_plugin_functions.yaml and torch_npu/csrc/aten/npu_native_functions.yaml, functions from the tables
in docs/zh/api/native_api of that torch. Facts alone are taken: names, versions, types.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
from pathlib import Path

import yaml

DATA = Path(__file__).resolve().parents[1] / "data"
OPERATORS = "op_plugin/config/op_plugin_functions.yaml"
NATIVE = "torch_npu/csrc/aten/npu_native_functions.yaml"
PAGES = ("torch", "torch-Tensor", "torch-nn-functional", "torch-nn", "torch-linalg", "torch-fft", "torch-special")
CARD = "Atlas A2 训练系列产品"  # the series of the 910B
CPU = "可能回退至CPU执行"  # "may fall back to run on the CPU"
TYPES = {
    "bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "uint8": "uint8", "int8": "int8",
    "int16": "int16", "int32": "int32", "int64": "int64", "bool": "bool", "complex64": "complex64",
    "complex128": "complex128",
}  # fmt: skip


def show(repo: str, path: str) -> str:
    return subprocess.run(
        ["git", "-C", repo, "show", f"HEAD:{path}"], capture_output=True, text=True, check=True
    ).stdout


def head(repo: str) -> str:
    return subprocess.run(
        ["git", "-C", repo, "log", "-1", "--format=%h %cs"], capture_output=True, text=True, check=True
    ).stdout.strip()


def has(versions, order: list[str], wanted: str) -> bool:
    """Whether `versions` ("all_version", "v2.1, v2.2", or a range [first, last]) holds `wanted` ("v2.13")."""
    if not versions:
        return False
    if versions == "all_version":
        return wanted in order
    if isinstance(versions, str):
        return wanted in [v.strip() for v in versions.split(",")]
    if len(versions) == 1:
        return wanted == versions[0]
    first, last = versions
    place = order.index
    return place(first) <= place(wanted) <= (len(order) - 1 if last == "newest" else place(last))


def operators(op_plugin: str, torch_npu: str, version: str) -> list[tuple[str, str, str]]:
    """(aten operator, "aclnn" / "aclop" / "torch_npu", origin): what has a kernel for the npu in that version."""
    book = yaml.safe_load(show(op_plugin, OPERATORS))
    order, rows = book["all_version"], {}
    for part in ("official", "autograd", "symint"):
        for entry in book[part]:
            name = entry["func"].split("(")[0]
            if name.startswith("npu_") or "_npu_" in name:
                continue
            way = next(
                (w for w, key in (("aclnn", "op_api"), ("aclop", "acl_op")) if has(entry.get(key), order, version)), ""
            )
            if way:
                rows[name] = (name, way, "op-plugin")
    for entry in yaml.safe_load(show(torch_npu, NATIVE))["supported"]:
        name = entry["func"] if isinstance(entry, dict) else entry
        rows.setdefault(name, (name, "torch_npu", "torch_npu"))
    return [rows[name] for name in sorted(rows)]


def functions(torch_npu: str, version: str) -> list[tuple[str, str, str, str]]:
    """(function, supported "yes" / "no", types of its first argument or "", "cpu" where it may run there)."""
    rows = []
    for page in PAGES:
        text = show(torch_npu, f"docs/zh/api/native_api/pytorch_{version.replace('.', '-')}-0/{page}.md")
        for part in re.split(r"^### ", text, flags=re.M)[1:]:
            name = part.split("\n")[0].strip().replace("\\", "")
            found = re.search(rf"{CARD}</term> \| *([✔✘])", part)
            if not found or not re.fullmatch(r"[\w.]+", name):
                continue
            limit = re.search(r"`(?:input|self)`仅支持([\w，,、 ]+)", part)
            words = re.findall(r"\w+", limit[1]) if limit else []
            types = [TYPES[w] for w in words if w in TYPES]
            rows.append((name, "yes" if found[1] == "✔" else "no", " ".join(types), "cpu" if CPU in part else ""))
    return sorted(set(rows))


def write(name: str, head_row: tuple[str, ...], rows: list[tuple]) -> None:
    with open(DATA / name, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head_row)
        writer.writerows(rows)
    print(f"data/{name}: {len(rows)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("op_plugin")
    parser.add_argument("torch_npu")
    parser.add_argument("--torch", default="2.13")
    given = parser.parse_args()
    print("op-plugin", head(given.op_plugin), "; torch_npu", head(given.torch_npu))
    write(
        "npu_operators.csv",
        ("operator", "kernel", "source"),
        operators(given.op_plugin, given.torch_npu, "v" + given.torch),
    )
    write("npu_functions.csv", ("function", "supported", "types", "cpu"), functions(given.torch_npu, given.torch))


if __name__ == "__main__":
    main()
