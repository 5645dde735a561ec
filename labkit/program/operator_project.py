"""A custom-operator project (op_host/ and op_kernel/) on the twin: its own tiling function, then its kernel.

    add = load("AddCustom")                                    # the folder with op_host and op_kernel
    result = add(x, y, outputs=[(x.shape, x.dtype)], alpha=2)  # tensors in the definition's order, attributes by name
    result.outputs[0], result.record

The host code is built as it is, against the lab's gert::TilingContext and OpDef; what it computes (blocks, tiling key,
tiling data, workspace) launches the kernel, which is compiled with the DTYPE_X names of this call's types.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import labkit
from labkit import device, paths
from labkit.build import headers, operator_folders
from labkit.build.includes import text_of
from labkit.launch.record import LaunchRecord
from labkit.program import build, operator_repo, tiling_structs
from labkit.source import lowering

# ge::DataType -> (torch, C++, its name there)
_TYPES = {
    0: ("float32", "float", "DT_FLOAT"),
    1: ("float16", "half", "DT_FLOAT16"),
    2: ("int8", "int8_t", "DT_INT8"),
    3: ("int32", "int32_t", "DT_INT32"),
    4: ("uint8", "uint8_t", "DT_UINT8"),
    6: ("int16", "int16_t", "DT_INT16"),
    7: ("uint16", "uint16_t", "DT_UINT16"),
    8: ("uint32", "uint32_t", "DT_UINT32"),
    9: ("int64", "int64_t", "DT_INT64"),
    10: ("uint64", "uint64_t", "DT_UINT64"),
    11: ("float64", "double", "DT_DOUBLE"),
    12: ("bool", "bool", "DT_BOOL"),
    27: ("bfloat16", "bfloat16_t", "DT_BF16"),
}
_NUMBERS = {names[0]: number for number, names in _TYPES.items()}
_ND = 2
_STRUCT = r"\b(?:struct|class)\s+(?:alignas\s*\([^)]*\)\s*)?"  # in front of its name


class ProjectError(Exception):
    """The project has no operator to run, or its host code refused; the text says which."""


@dataclass
class Tiling:
    """What the project's tiling function decided."""

    blocks: int
    key: int
    data: bytes
    workspaces: list[int]
    arguments: list[int] = field(default_factory=list)  # of a template kernel


@dataclass
class Result:
    """outputs, inputs: tensors on the CPU, the inputs as the kernel left them."""

    outputs: list
    inputs: list
    record: LaunchRecord
    tiling: Tiling


@dataclass
class Project:
    """Made by `load`. definition: the operator's inputs, outputs and attributes as its OpDef names them."""

    folder: Path
    name: str
    kernel_file: Path
    tool: Path
    definition: dict
    include_dirs: list[str]
    hosts: list[Path]
    host_dirs: list[str]
    timeout: float = 60.0
    schedule: str = "program"
    _kernels: dict = field(default_factory=dict)

    def __call__(self, *inputs, outputs=None, **attrs) -> Result:
        """Tiles and launches. inputs: tensors (anywhere), None for an optional one that is left out,
        lists for dynamic ones.

        outputs: (shape, torch dtype) of each, or a tensor that holds what the kernel finds there (zeros, for one that
        only adds); a list of them for a dynamic one; without them the project's InferShape says. Raises ProjectError,
        LaunchError.
        """
        import torch

        device.install()
        groups, dynamic, made = self._call(inputs, outputs, attrs)
        tiling = self._tiled(groups, made, attrs)
        zeroed = [o["zeroed"] for o in self.definition["outputs"]]
        results = [
            [(torch.zeros if z else torch.empty)(tuple(shape), dtype=dtype, device="npu") for shape, dtype in group]
            for group, z in zip(made, zeroed)
        ]
        for group, given in zip(results, outputs or ()):
            for result, began in zip(group, given if isinstance(given, list) else [given]):
                if isinstance(began, torch.Tensor):
                    result.copy_(began)
        held = [[t.npu().contiguous() for t in g] for g in groups]
        given = [_tensor_list(h) if n else h[0] if h else None for h, n in zip(held, dynamic)]
        places = [
            _tensor_list(r) if isinstance(o, list) else r[0]
            for r, o in zip(results, [*(outputs or ()), *[None] * len(results)])  # those in place need not be named
        ]
        workspace = torch.empty(max(32, sum(tiling.workspaces)), dtype=torch.uint8, device="npu")
        k = self._kernel(groups, made, tiling)
        names = [i["name"] for i in self.definition["inputs"]]
        missing = len(given) + len(places) + 2 - len(k.signature.params)
        for i, output in enumerate(self.definition["outputs"]):
            if output["name"] in names:  # written in place; a kernel may still have a parameter for it
                places[i], results[i] = given[names.index(output["name"])], held[names.index(output["name"])]
        passed = places[missing:] if missing > 0 else places
        if any(o["computed"] for o in self.definition["outputs"]):  # the kernel says how much of them it filled
            passed = [*passed, torch.zeros(9 * len(passed), dtype=torch.int64, device="npu")]
        record = k[tiling.blocks](*given, *passed, workspace, tiling.data or bytes(8))
        left = [[t.cpu() for t in h] for h in held]
        return Result(
            [t.cpu() for r in results for t in r],
            [h if n else h[0] if h else None for h, n in zip(left, dynamic)],
            record,
            tiling,
        )

    def tile(self, *inputs, outputs=None, **attrs) -> Tiling:
        """What the tiling function decides for such a call, on the host alone: the first half of a call.

        Tensors may be empty ones on `meta`, unless the definition says that the host reads their values. Raises
        ProjectError.
        """
        groups, _, made = self._call(inputs, outputs, attrs)
        return self._tiled(groups, made, attrs)

    def _call(self, inputs, outputs, attrs: dict) -> tuple[list, list[int], list]:
        """The tensors of each input, how many of them are a list, and (shape, dtype) of each output."""
        inputs = (*inputs, *[None] * (len(self.definition["inputs"]) - len(inputs)))
        groups = [list(i) if isinstance(i, (list, tuple)) else [] if i is None else [i] for i in inputs]
        made = [
            [(t.shape, t.dtype) if hasattr(t, "dtype") else t for t in (o if isinstance(o, list) else [o])]
            for o in (outputs if outputs is not None else self._inferred(groups, attrs))
        ]
        self._in_place(made, groups)
        return groups, [len(i) if isinstance(i, (list, tuple)) else 0 for i in inputs], made

    def _tiled(self, groups: list, made: list, attrs: dict) -> Tiling:
        answer = self._ask("tile", groups, [o for group in made for o in group], attrs)
        if "tiling" not in answer:
            raise ProjectError(f"{self.name} has no tiling function")
        told = answer["tiling"]
        if told["status"]:
            raise ProjectError(f"the tiling function of {self.name} refused (status {told['status']:#x})")
        return Tiling(told["blocks"], told["key"], bytes.fromhex(told["data"]), told["workspaces"], told["arguments"])

    def _in_place(self, made: list, groups: list) -> None:
        """An output that an input is written over, and that the caller has not named, is like that input."""
        names = [i["name"] for i in self.definition["inputs"]]
        for i, output in enumerate(self.definition["outputs"]):
            if i >= len(made) and output["name"] in names:
                made.append([(t.shape, t.dtype) for t in groups[names.index(output["name"])]])

    # ---- the host's side

    def _inferred(self, groups: list, attrs: dict) -> list:
        import torch

        inferred = self._ask("infer", groups, [], attrs).get("inferred")
        if not inferred:
            raise ProjectError(f"{self.name} does not say what its outputs are; give outputs=[(shape, dtype), ...]")
        first = groups[0][0].dtype
        return [
            (o["shape"], getattr(torch, _TYPES[o["dtype"]][0]) if o["dtype"] in _TYPES else first) for o in inferred
        ]

    def _ask(self, what: str, groups: list, outputs: list, attrs: dict) -> dict:
        lines = [f"op {self.name}", what]
        for i, group in enumerate(groups):
            for t in group:
                lines.append(f"input {i} {_number(t.dtype)} {_ND} {' '.join(map(str, t.shape))}")
                if self.definition["inputs"][i]["depends"]:
                    lines.append(f"data {i} {t.detach().cpu().contiguous().numpy().tobytes().hex()}")
        lines += [f"output {_number(dtype)} {_ND} {' '.join(map(str, shape))}" for shape, dtype in outputs]
        lines += [f"attr {name} {_word(value)}" for name, value in attrs.items()]
        return _run(self.tool, lines)

    # ---- the kernel's side

    def _kernel(self, groups: list, outputs: list, tiling: Tiling):
        defines = {"TILING_KEY_VAR": str(tiling.key), "TWIN_OP_KERNEL": "1"}
        given = [g[0].dtype if g else None for g in groups]
        for param, dtype in zip(
            self.definition["inputs"] + self.definition["outputs"], given + [o[0][1] for o in outputs]
        ):
            if dtype is None and param["dtypes"]:
                number = param["dtypes"][0]
            else:
                number = _number(dtype)
            upper = param["name"].upper()
            defines.update(
                {
                    f"DTYPE_{upper}": _TYPES[number][1],
                    f"ORIG_DTYPE_{upper}": _TYPES[number][2],
                    f"FORMAT_{upper}": "FORMAT_ND",
                }
            )
        key = (tiling.key, *tiling.arguments, *sorted(defines.items()))
        if key not in self._kernels:
            text = lowering.without_launches(self.kernel_file.read_text(encoding="utf-8", errors="replace"))
            self._kernels[key] = labkit.kernel(
                text=self._prelude(text, tiling.key) + f'#line 1 "{self.kernel_file}"\n' + text,
                filename=str(self.kernel_file),
                entry=self._entry(text, tiling),
                defines=defines,
                include_dirs=self.include_dirs,
                tiling_key=tiling.key,
                timeout=self.timeout,
                schedule=self.schedule,
            )
        return self._kernels[key]

    def _entry(self, text: str, tiling: Tiling) -> str:
        """The kernel, or its instantiation with the arguments that the tiling function chose."""
        name = _snake(self.name)
        found = [k for k in lowering.parse(text, str(self.kernel_file)) if k.name == name]
        if not found or found[0].template is None:
            return name
        heads = [" ".join(h.split()) for h in found[0].template.split(",")]
        if not tiling.arguments:  # the key stayed 0: of each argument the first value that is declared
            around = text_of(text, self.kernel_file.parent, self.include_dirs)
            return f"{name}<{', '.join(tiling_structs.first_arguments(text + around))}>"
        around = text_of(text, self.kernel_file.parent, self.include_dirs)
        numbers = {names[2]: number for number, names in _TYPES.items()}
        if none := tiling_structs.unselected(text + around, tiling.arguments, numbers):
            raise ProjectError(
                f"the tiling function of {self.name} chose {none}: no ASCENDC_TPL_ARGS_SEL has these values together, "
                "so that CANN's build makes no such kernel and its launch fails"
            )
        words = [
            _TYPES[a][1] if re.match(r"(?:typename|class)\b", h) else str(a) for h, a in zip(heads, tiling.arguments)
        ]
        return f"{name}<{', '.join(words)}>"

    def _prelude(self, text: str, key: int = 0) -> str:
        """The plain structs of the host's tiling classes, which CANN's build generates for the kernel."""
        reached = text + text_of(text, self.kernel_file.parent, self.include_dirs)
        out = ['#include "kernel_operator.h"', *(['#include "acl/acl.h"'] if "aclrt" in text else [])]
        files = [*_files(self.folder / "op_host", (".h", ".cpp")), *_files(self.folder / "op_kernel", (".h",))]
        texts = [f.read_text(encoding="utf-8", errors="replace") for f in files]
        texts += [
            text_of(h.read_text(encoding="utf-8", errors="replace"), h.parent, [*self.include_dirs, *self.host_dirs])
            for h in self.hosts
        ]
        host = "\n".join(texts)
        for name, body in tiling_structs.plain_structs(host).items():
            if not re.search(rf"{_STRUCT}{name}\b|TILING_DATA_DEF\(\s*{name}\b", reached):
                out.append(body)
        classes = tiling_structs.registered(host)
        by_op = dict(reversed(classes))
        default = by_op.get(f"{self.name}_{key}") or by_op.get(self.name) or (classes[0][1] if classes else "")
        if default and "REGISTER_TILING_DEFAULT" not in reached and not re.search(rf"{_STRUCT}{default}\b", reached):
            out.append(f"REGISTER_TILING_DEFAULT({default});")
        return "\n".join(out) + "\n"


def load(
    folder,
    op: str = "",
    *,
    kernel: str = "",
    include_dirs=(),
    without=(),
    timeout: float = 60.0,
    schedule: str = "program",
) -> Project:
    """The operator of a project's folder; op: which, where its op_host defines several; kernel: the op_kernel file;
    without: names of op_host files to leave out. Of a named operator only its own op_host files are compiled, and those
    that belong to none.

    Raises ProjectError, CompileError, ToolError.
    """
    folder = Path(folder).resolve()
    hosts = _of(op, [h for h in _hosts(folder / "op_host") if h.name not in without])
    if not hosts:
        raise ProjectError(f"{folder} has no op_host with C++ sources")
    dirs = [
        str(folder / "op_host"),
        str(folder / "op_kernel"),
        str(folder),
        str(folder.parent),
        *map(str, include_dirs),
        *map(str, headers.include_dirs("operator")),
    ]
    hosts = [*hosts, *_shared_tiling(hosts, op, folder)]
    more, sources = operator_repo.beyond(hosts, [*dirs, *map(str, headers.include_dirs())], folder)
    tool = _tool(list(dict.fromkeys([*hosts, *sources])), [*dirs, *more])
    definition = _run(tool, [f"op {op}"])
    if "op" not in definition:
        raise ProjectError(
            f"{folder.name} defines {', '.join(definition['ops']) or 'no operator'}" + (f", not {op}" if op else "")
        )
    name = definition["op"]
    file = _kernel_file(folder, kernel, name)
    here = [*dirs, *operator_folders.side_by_side(file), *map(str, headers.include_dirs())]
    return Project(
        folder,
        name,
        file,
        tool,
        definition,
        [*dirs, *operator_repo.beyond([file], here, folder)[0]],
        hosts,
        more,
        timeout,
        schedule,
    )


def _hosts(folder: Path) -> list[Path]:
    """The definition and the tiling; shapes alone, other chips' and other interfaces' files stay out."""
    kept = []
    for f in _files(folder, (".cpp", ".cc")):
        text = f.read_text(encoding="utf-8", errors="replace")
        parts = set(f.relative_to(folder).parts[:-1])
        if (
            parts & ({"op_api", "op_graph", "config"} | operator_repo.OTHER_CHIPS)
            or f.stem.endswith(("_infershape", "_graph_infer"))
            or f.stem.startswith("fallback_")
            or "__global__" in text
        ):
            continue
        kept.append(f)
    return kept


def _of(op: str, hosts: list[Path]) -> list[Path]:
    """Those files of op_host that are this operator's, or no operator's own; all where none defines it."""
    texts = {h: h.read_text(encoding="utf-8", errors="replace") for h in hosts}
    named = {h: re.findall(r"\b(?:OP_ADD|IMPL_OP\w*)\(\s*(\w+)", text) for h, text in texts.items()}
    kept = [h for h in hosts if not named[h] or op in named[h]]
    return kept if any(op in names for names in named.values()) else hosts


def _shared_tiling(hosts: list[Path], op: str, folder: Path) -> list[Path]:
    """Where the definition is here and the tiling function in a folder that several operators share."""
    text = "\n".join(h.read_text(encoding="utf-8", errors="replace") for h in hosts)
    name = op or (re.findall(r"\bOP_ADD\(\s*(\w+)", text) or [""])[0]
    if not name or re.search(rf"\bSetTiling\(|\bIMPL_OP(?:_OPTILING)?\(\s*{name}\s*\)", text):
        return []
    return [f for f in operator_repo.registering(name, folder) if f not in hosts]


def _tool(hosts: list[Path], dirs: list[str]) -> Path:
    main = paths.twin_dir() / "op" / "tiling_main.cpp"
    sources = [build.Source(f, ("TWIN_OP_HOST",), tuple(dirs)) for f in [*hosts, main]]
    # what only other chips' files define, which are left out, is never called
    return build.build(
        build.Program("tiling", sources, ["-no-pie", "-Wl,--unresolved-symbols=ignore-all"]), start=False
    )


def _kernel_file(folder: Path, named: str, op: str) -> Path:
    files = [
        f
        for f in _files(folder / "op_kernel", (".cpp", ".asc", ".cce"))
        if "__global__" in f.read_text(errors="replace")
        and not operator_repo.OTHER_CHIPS & set(f.relative_to(folder).parts)
    ]
    wanted = [f for f in files if f.name == (named or f"{_snake(op)}{f.suffix}")] or (files if len(files) == 1 else [])
    if not wanted:
        raise ProjectError(f"{folder.name}/op_kernel has no kernel for {op}")
    return wanted[0]


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(
        f
        for f in folder.rglob("*")
        if f.suffix in suffixes and f.is_file() and not {"build_out", ".ipynb_checkpoints"} & set(f.parts)
    )


def _run(tool: Path, lines: list[str]) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as request:
        request.write("\n".join(lines) + "\n")
        request.flush()
        done = subprocess.run([str(tool), request.name], capture_output=True, text=True, errors="replace", timeout=60)
    at = done.stdout.rfind("\n@@@")
    if done.returncode == -11:
        raise ProjectError(
            "the host code crashed (SIGSEGV); where it reads an input's values, the definition must say "
            ".ValueDepend(...)"
        )
    if done.returncode or at < 0:
        raise ProjectError(
            f"the host code ended with status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
        )
    return json.loads(done.stdout[at + 4 :])


def _number(dtype) -> int:
    name = str(dtype).removeprefix("torch.")
    if name not in _NUMBERS:
        raise ProjectError(f"operators do not take {name}")
    return _NUMBERS[name]


def _word(value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return " ".join(map(_word, value)) if isinstance(value, (list, tuple)) else str(value)


def _snake(name: str) -> str:
    """The file and function name that CANN's build expects for an operator: AddCustom -> add_custom."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _tensor_list(group: list):
    """A dynamic input as a kernel takes it: the distance to the pointers, shapes (ListTensorDesc),
    pointers to the tensors.
    """
    import torch

    words = []
    for i, t in enumerate(group):
        words += [len(group) - i - 1 << 32 | t.dim(), *t.shape]
    words[0] = len(group) << 32 | group[0].dim()
    words = [8 * (len(words) + 1), *words, *(t.data_ptr() for t in group)]
    made = torch.tensor(words, dtype=torch.int64).npu()
    made.points_to = group
    return made
