"""labkit.migrate.scan(path): the lines of a program that speak of CUDA, and what becomes of them on an npu.

transfer_to_npu changes PyTorch in the running process, so a call of torch.cuda works; it cannot compile .cu files,
bring packages that are built for CUDA, or change text that goes elsewhere than to PyTorch.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from labkit.messages import text

# Packages with kernels for CUDA inside. What takes their place on an npu is in the message of that name, if anything.
PACKAGES = {
    "flash_attn": "attention", "xformers": "attention", "apex": "apex", "bitsandbytes": "quantised", "triton": "triton",
    "cupy": "", "numba.cuda": "", "pycuda": "", "pynvml": "smi", "tensorrt": "", "torch_tensorrt": "",
    "transformer_engine": "", "dskernels": "", "mamba_ssm": "", "causal_conv1d": "",
}  # fmt: skip
# Of torch itself, beyond transfer_to_npu's reach.
CALLS = {
    "torch.utils.cpp_extension.CUDAExtension": "extension",
    "torch.utils.cpp_extension.load": "extension",
    "torch.utils.cpp_extension.load_inline": "extension",
    "torch.jit.script": "script",
    "torch.jit.trace": "script",
}
_CUDA = (".cu", ".cuh")
_BACKENDS = re.compile(r"\w+:\w+(?:,\w+:\w+)*")  # of init_process_group, by device: "cpu:gloo,cuda:nccl"
SWITCHES = ("torch.backends.cudnn", "torch.backends.cuda")


@dataclass(frozen=True)
class Line:
    """mended: by transfer_to_npu. what: the name or text found; why: what becomes of it."""

    file: str
    line: int
    what: str
    mended: bool
    why: str


def scan(path: str | Path) -> list[Line]:
    """All lines of a Python file, or of those below a folder, in order. A file that is no Python (or of another
    version) gives one line that says so. Raises FileNotFoundError."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(text("migrate.no-file", path=path))
    files = sorted(p for p in path.rglob("*") if _is_source(p.relative_to(path), p)) if path.is_dir() else [path]
    found = []
    for file in files:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        if file.suffix in _CUDA:
            found.append(Line(name, 1, file.name, False, text("migrate.scan-cu")))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the program's own strings
                tree = ast.parse(file.read_bytes(), str(file))  # bytes: a BOM, a coding line
            reader = _Reader(name)
            reader.visit(tree)
        except (SyntaxError, ValueError, OSError, RecursionError, MemoryError) as error:  # the last two: nested deep
            found.append(Line(name, getattr(error, "lineno", 1) or 1, str(error), False, text("migrate.scan-unread")))
            continue
        found += sorted(set(reader.found), key=lambda row: (row.line, row.what))
    return found


def _is_source(name: Path, file: Path) -> bool:
    """A program's own text: nothing in a hidden folder, a virtual environment or what pip installed."""
    outside = any(part.startswith(".") or part == "site-packages" for part in name.parts)
    return file.suffix in (".py", *_CUDA) and not outside and file.is_file()


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str):
        self.file, self.found, self.names = file, [], {"torch": "torch"}
        self.brought: set[str] = set()  # names that came by *, judged where they are used

    def _add(self, node: ast.AST, what: str, mended: bool, key: str) -> None:
        self.found.append(Line(self.file, node.lineno, what, mended, text(f"migrate.scan-{key}")))

    def _package(self, node: ast.AST, module: str) -> bool:
        for name, instead in PACKAGES.items():
            if module == name or module.startswith(name + "."):
                self._add(node, name, False, f"package-{instead}" if instead else "package")
                return True
        return False

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._package(node, alias.name)
            self.names[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
            if alias.asname:  # import torch.backends.cudnn as cudnn
                self._judge(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")  # the program's own .triton is no package
        self._package(node, module)
        for alias in node.names:
            if alias.name == "*":
                self._all_of(module)
            full = f"{module}.{alias.name}"
            self._package(node, full)
            self.names[alias.asname or alias.name] = full
            self._judge(node, full)

    def _all_of(self, module: str) -> None:
        """`from module import *`: what is judged where it is used. Of torch itself nothing, for torch.__all__ names no
        module: `cuda` is not among what that brings."""
        for full in CALLS:
            home, _, name = full.rpartition(".")
            if home == module:
                self.names[name] = full
                self.brought.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.brought and isinstance(node.ctx, ast.Load):
            self._judge(node, self.names[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full = self._path(node)
        if full and self._judge(node, full):
            return
        if node.attr in ("cuda", "is_cuda") and not full.startswith("torch."):
            if not self._package(node, full):  # cupy.cuda; else of an object, imported or not
                self._add(node, f".{node.attr}", True, "method")
        self.generic_visit(node)

    def _path(self, node: ast.AST) -> str:
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return ""
        return ".".join([self.names[node.id], *reversed(parts)])

    def _judge(self, node: ast.AST, full: str) -> bool:
        if full in CALLS:
            self._add(node, full, False, CALLS[full])
        elif full.startswith(SWITCHES):
            self._add(node, full, True, "switch")
        elif full == "torch.cuda" or full.startswith("torch.cuda."):
            self._add(node, full, True, "torch-cuda")
        else:
            return False
        return True

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # documentation
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str):
            return
        if _BACKENDS.fullmatch(node.value) and ":nccl" in node.value:
            self._add(node, f'"{node.value}"', False, "backends")
        elif node.value == "cuda" or node.value.startswith("cuda:"):
            self._add(node, f'"{node.value}"', True, "text")
        elif node.value == "nccl":
            self._add(node, '"nccl"', True, "nccl")
        elif node.value.startswith(("CUDA_VISIBLE_DEVICES", "NCCL_", "CUDA_LAUNCH_BLOCKING")):
            self._add(node, node.value, False, "variable")
        elif "nvidia-smi" in node.value:
            self._add(node, "nvidia-smi", False, "smi")
