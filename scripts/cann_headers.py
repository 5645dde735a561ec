"""The lab's kernels, and yours, against the real headers of CANN; nothing of theirs is kept in this repository.

    python scripts/cann_headers.py check --headers DIR [--headers DIR ...] [file or folder ...]
    python scripts/cann_headers.py names --headers DIR [--headers DIR ...]

DIR is the root of a CANN toolkit, or of a checkout of its parts (asc-devkit has the API's headers, asc-tools those of
the CPU debug mode); a header is taken from the first DIR that has it. check compiles every kernel (default: all that
the workbook ships or builds, exercises as they are solved) for dav-c220 in CPU debug mode, only for errors: a kernel
that passes is legal Ascend C for the chips of Atlas A2. Files may be C++ (.asc, .cpp, .h) or notebooks. names writes
data/cann_names.csv, the names that those headers put into the namespace AscendC; it needs `pip install libclang`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from labkit.exercises.spec import folders, load  # noqa: E402
from labkit.exercises.stub import template  # noqa: E402
from labkit.notebook import build, source  # noqa: E402
from labkit.paths import repo_root  # noqa: E402
from labkit.source import api  # noqa: E402
from labkit.source.lowering import without_attributes, without_launches  # noqa: E402
from labkit.source.scan import Outline  # noqa: E402

FLAGS = (
    "-std=c++17 -w -fsyntax-only -x c++ "
    "-D__NPU_ARCH__=2201 -D__CCE_AICORE__=220 -DASCENDC_CPU_DEBUG=1 -D__CCE_KT_TEST__=1"
)
# Headers by which the include folders are found: (the header, the folder's name for it)
KEYS = (
    "kernel_operator.h",
    "kernel_operator_intf.h",
    "tikicpulib.h",
    "stub_fun.h",
    "kernel_event.h",
    "kernel_utils.h",
    "kernel_tpipe_impl.h",
)
GENERATOR = "gen_kernel_tiling_data_def.py"  # asc-devkit makes kernel_tiling/kernel_tiling.h when it is built


class Headers:
    """The include folders of one or more CANN trees, with a shelf in front for names that only an installation has."""

    def __init__(self, roots: list[Path], shelf: Path) -> None:
        self.shelf, self.files = shelf, {}
        for root in roots:
            for folder, _, names in os.walk(root):
                for name in names:
                    if name.endswith((".h", ".hpp", GENERATOR)):
                        self.files.setdefault(name, []).append(Path(folder) / name)
        self.folders = [shelf]
        for key in KEYS:
            self._add(self.find(key, needed=True).parent)
        api_root = self.find("kernel_operator.h").parent
        for folder in (api_root, api_root.parent, api_root.parent / "impl"):
            for inner in ("", "basic_api", "adv_api", "utils", "include", "c_api"):
                self._add(folder / inner)
        self._tiling()

    def find(self, name: str, *, needed: bool = False, device: bool = True) -> Path | None:
        """The first file that ends with `name`, those for the host's side last."""
        parts = Path(name).parts
        found = [p for p in self.files.get(parts[-1], ()) if p.parts[-len(parts) :] == parts]
        if not found and needed:
            raise SystemExit(f"No {name} below the folders given with --headers.")
        return found[0] if found else None

    def _add(self, folder: Path) -> None:
        if folder.is_dir() and folder not in self.folders:
            self.folders.append(folder)

    def _tiling(self) -> None:
        if tiling := self.find("kernel_tiling/kernel_tiling.h"):
            namespaced = "namespace tiling" in tiling.read_text(encoding="utf-8", errors="replace")
            if namespaced or not self.files.get(GENERATOR):
                return self._put("kernel_tiling/kernel_tiling.h", tiling)
        if generator := self.find(GENERATOR):
            made = self.shelf / "kernel_tiling" / "kernel_tiling.h"
            definitions = self.find("kernel_operator.h").parent / "adv_api"
            subprocess.run([sys.executable, generator, definitions, made], check=True, stdout=subprocess.DEVNULL)

    def _put(self, name: str, target: Path) -> None:
        place = self.shelf / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def offer(self, text: str) -> None:
        """Brings the headers that `text` includes by an installation's name (lib/..., tiling/...) onto the shelf."""
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([\w./]+)[">]', text, re.M):
            if any((folder / name).exists() for folder in self.folders):
                continue
            if found := self.find(name) or self.find(Path(name).name):
                self._put(name, found)

    def words(self) -> list[str]:
        return [*FLAGS.split(), *(f"-I{folder}" for folder in self.folders)]


# ---- what is compiled


@dataclass
class Unit:
    """A text to compile. folder: where its quoted includes are looked for."""

    name: str
    text: str
    folder: Path


def _file(path: Path) -> list[Unit]:
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        return _magics(path.name, texts, path.parent)
    if path.parent.parent.name == "exercises" and path.name.startswith("solution"):
        return _exercise(path.parent.name)
    return [Unit(str(path), path.read_text(encoding="utf-8"), path.parent)]


def _magics(name: str, cells: list[str], folder: Path) -> list[Unit]:
    """The cells that are a kernel: %%ascendc, but for those that show an error of the compiler."""
    heads = [(cell.partition("\n")[0], cell.partition("\n")[2]) for cell in cells if cell.startswith("%%ascendc")]
    found = [text for head, text in heads if "--expect compile" not in head]
    return [Unit(f"{name} kernel {i}", text, folder) for i, text in enumerate(found, 1)]


def _exercise(name: str) -> list[Unit]:
    spec = load(name)
    if spec.kind not in ("kernel", "program") or not (spec.folder / "solution.asc").exists():
        return []
    solved = template(spec)
    return [Unit(f"exercise {name}", solved.join(solved.solution(), name).text, spec.folder.parent.parent)]


def shipped() -> list[Unit]:
    """Every kernel of the repository that a learner meets, the exercises solved."""
    units = []
    for home in ("kernels", "labkit/calibration/kernels", "tests/speed/kernels"):
        files = sorted((repo_root() / home).rglob("*.asc"))
        units += [Unit(str(p.relative_to(repo_root())), p.read_text(encoding="utf-8"), p.parent)
                  for p in files if "exercises" not in p.parts]  # fmt: skip
    for name in folders():
        units += _exercise(name)
    for src in build.chosen(None):
        cells = [block.text for block in src.blocks if isinstance(block, source.Code)]
        units += _magics(src.id, cells, repo_root())
    return units


# ---- compiling


_DEVICE = re.compile(r"\b(?:__aicore__|__global__|constexpr|template)\b")
_HOST_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<](?:tiling|acl|register|torch|ATen|c10|torch_npu)/[^\n]*', re.M
)


def device_part(text: str) -> str:
    """`text` without the includes and the functions of the host, line for line."""
    outline = Outline(text)
    for block in reversed(outline.blocks):
        around = {b.kind for b in block.chain()} - {"namespace", "linkage"}
        if (
            around == {"function"}
            and block.parent in (None, *outline.blocks)
            and not _DEVICE.search(outline.masked, block.head, block.open)
        ):
            text = text[: block.head] + "\n" * text.count("\n", block.head, block.close + 1) + text[block.close + 1 :]
    return _HOST_INCLUDE.sub("", text)


def compiled(unit: Unit, headers: Headers, cxx: str) -> tuple[str, str]:
    """What the compiler says of it, "" where it is legal; and a remark."""
    words = [cxx, *headers.words(), "-iquote", str(unit.folder)]
    whole = without_launches(without_attributes(unit.text))
    missing = ""
    for text, remark in ((whole, ""), (device_part(whole), " (device part only: the headers given lack {})")):
        code = f'#line 1 "{unit.name}"\n{text}'
        ran = subprocess.run([*words, "-"], input=code, capture_output=True, text=True)
        if ran.returncode == 0:
            return "", remark.format(missing) if remark else ""
        lacking = re.search(r"fatal error: (\S+): No such file", ran.stderr)
        if not lacking or remark:
            break
        missing = lacking[1]
    return ran.stderr or "the compiler failed without a word", ""


def check(headers: Headers, units: list[Unit]) -> int:
    # PyTorch's side of an operator holds no kernel: those stand in a file that it includes
    units = [unit for unit in units if "__global__" in unit.text or not re.search(r"<(?:torch|ATen)/", unit.text)]
    cxx = os.environ.get("CXX") or shutil.which("g++") or "c++"
    for unit in units:
        headers.offer(unit.text)
        for quoted in re.findall(r'#\s*include\s*"([\w./]+)"', unit.text):
            if (unit.folder / quoted).is_file():
                headers.offer((unit.folder / quoted).read_text(encoding="utf-8"))
    started, wrong = time.perf_counter(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for unit, (said, remark) in zip(units, pool.map(lambda unit: compiled(unit, headers, cxx), units)):
            if remark:
                print(f"legal: {unit.name}{remark}")
            if said:
                wrong += 1
                print(f"not legal: {unit.name}")
                print("\n".join(f"    {line}" for line in said.splitlines() if "error" in line)[:1500] or said[:1500])
    print(f"{len(units) - wrong} of {len(units)} kernels are legal ({time.perf_counter() - started:.0f} s)")
    return 1 if wrong else 0


# ---- the names

PROBE = {"": "kernel_operator.h", "matmul": "lib/matmul_intf.h"}  # which headers bring a name


def parsed(headers: Headers, include: str):
    """libclang's tree of a file that includes `include`; it says what it could not read."""
    try:
        from clang import cindex
    except ImportError:
        raise SystemExit("names reads the headers with libclang: pip install libclang") from None
    text = f'#include "kernel_operator.h"\n#include "{include}"\n'
    headers.offer(text)
    # libclang's wheel has no headers of its own for stddef.h and the like: those of the compiler serve
    inner = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
    words = [*headers.words(), "-isystem", inner, "-ferror-limit=0"]
    words.remove("-fsyntax-only")
    unit = cindex.Index.create().parse(
        "probe.cpp", words, [("probe.cpp", text)], cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    )
    wrong = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if wrong:
        raise SystemExit("The headers do not compile:\n" + "\n".join(wrong[:5]))
    return cindex.CursorKind, unit.cursor


def declared(headers: Headers, include: str) -> dict[str, set[str]]:
    """name -> signatures of the functions of that name in namespace AscendC; "" stands for anything but a function."""
    kind, root = parsed(headers, include)
    functions, members = (kind.FUNCTION_DECL, kind.FUNCTION_TEMPLATE), (kind.CXX_METHOD, kind.CONSTRUCTOR)
    found: dict[str, set[str]] = {}

    def put(name: str, signature: str = "") -> None:
        if re.fullmatch(r"[A-Za-z_]\w*", name):
            found.setdefault(name, set()).add(signature)

    def walk(scope) -> None:
        for c in scope.get_children():
            if c.kind in (kind.LINKAGE_SPEC, kind.UNEXPOSED_DECL) or c.kind == kind.NAMESPACE and not c.spelling:
                walk(c)
            elif c.kind in functions and c.semantic_parent == c.lexical_parent:
                put(c.spelling, _signature(kind, c))
            elif c.kind in (*functions, *members, kind.DESTRUCTOR) or not c.kind.is_declaration():
                continue  # a member that is defined outside its class
            else:
                put(c.spelling)
                if c.kind == kind.ENUM_DECL and not c.is_scoped_enum():
                    for value in c.get_children():
                        put(value.spelling)

    for c in root.get_children():
        if c.kind == kind.NAMESPACE and c.spelling == "AscendC":
            walk(c)
    return found


def _signature(kind, function) -> str:
    inner = list(function.get_children())
    parameters = [c.type.spelling for c in inner if c.kind == kind.PARM_DECL]
    of_template = (kind.TEMPLATE_TYPE_PARAMETER, kind.TEMPLATE_NON_TYPE_PARAMETER, kind.TEMPLATE_TEMPLATE_PARAMETER)
    return api.signature([c.spelling for c in inner if c.kind in of_template], parameters)


def write_names(headers: Headers) -> int:
    rows: dict[str, tuple[str, str]] = {}
    for brought, include in PROBE.items():
        for name, signatures in declared(headers, include).items():
            # a name that stands for a type or a variable clashes with everything, whatever else has it
            rows.setdefault(name, (brought, "" if "" in signatures else " | ".join(sorted(signatures))))
    table = repo_root() / "data" / "cann_names.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "header", "functions"))
        writer.writerows((name, *rows[name]) for name in sorted(rows))
    print(f"{table}: {len(rows)} names, {table.stat().st_size} bytes")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("check", "names"))
    parser.add_argument("--headers", action="append", type=Path, required=True, metavar="DIR")
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_intermixed_args(arguments)
    for folder in asked.headers:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    with tempfile.TemporaryDirectory() as shelf:
        headers = Headers(asked.headers, Path(shelf))
        if asked.command == "names":
            return write_names(headers)
        units = []
        for path in asked.files:
            inner = sorted(p for end in ("*.asc", "*.ipynb") for p in path.rglob(end)) if path.is_dir() else [path]
            units += [unit for p in inner for unit in _file(p)]
        return check(headers, units or shipped())


if __name__ == "__main__":
    sys.exit(main())
