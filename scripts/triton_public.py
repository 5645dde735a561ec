"""Writes data/triton_public.csv: public Triton kernels of vllm-ascend and flash-linear-attention, by their own tests.

    git clone https://github.com/vllm-project/vllm-ascend; git clone https://github.com/fla-org/flash-linear-attention
    pip download --no-deps --no-binary vllm vllm            # unpacked: what vllm-ascend imports
    python scripts/triton_public.py --fla flash-linear-attention --ascend vllm-ascend --vllm vllm --write

The rule, stated before the first run. Files: every tests/ops/test_*.py and tests/modules/test_*.py of
flash-linear-attention, every test_*.py of vllm-ascend's nightly folder of single-card Triton operators, unchanged. Of
each file its tests in order, of each test the smallest case (the product of its whole parameters, the first of
equals), until one has called a Triton kernel: that one counts for the file. The reference and the
tolerance are the test's. Of a tuned kernel the first configuration that fits UB is taken. All files are counted.
    right      the test passes
    refused    labkit.triton says that it does not take a kernel
    too large  no configuration fits UB
    late       more than --seconds
    wrong      other numbers, or any other error; the process ended in a kernel
    not here   no test could call a kernel: what it imports is not there, upstream's front end refuses it, or the file
               skips it
vllm, which vllm-ascend is a part of, is read from its source; STANDINS, which both import and which are not here, are
empty, as are NPU_NAMES of torch_npu; what vllm-ascend's setup.py writes (the kind of chip) says A2. kernels: what the
test called, those without an answer marked with !. first: the outcome when the rule was run for the first time; --write
changes the rows of the files that were run.
"""

from __future__ import annotations

import argparse
import csv
import importlib.abc
import importlib.machinery
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import types
from collections import deque
from pathlib import Path
from unittest import mock

import pytest

REPO = Path(__file__).resolve().parents[1]
OUT = REPO / "data" / "triton_public.csv"
STANDINS = "aiohttp cachetools cbor2 llguidance openai_harmony pybase64 uvloop xgrammar".split()
# names that modules read while they are imported, and that no test uses
NPU_NAMES = ("float4_e2m1fn_x2", "float4_e1m2fn_x2", "hifloat8", "float8_e8m0fnu")
FILES = {"fla": ("tests/ops", "tests/modules"), "ascend": ("tests/e2e/nightly/single_node/ops/singlecard_ops/triton",)}
NAMES = {"fla": "flash-linear-attention", "ascend": "vllm-ascend"}
UPSTREAM = r"No module named|cannot import name|CompilationError|power of 2|fixture '|torch.cuda|CUDA|NVIDIA"
FIELDS = ["repository", "file", "test", "first", "outcome", "kernels", "note"]
_state: dict = {"called": [], "begun": [], "done": set(), "rows": None, "file": "", "test": ""}


def judged(outcome: str, text: str) -> str:
    if outcome == "passed":
        return "right"
    if "is not there" in text:
        return "refused"
    if "bytes of UB" in text or "out of resource" in text:
        return "too large"
    if "time is up" in text:
        return "late"
    return "not here" if outcome in ("skipped", "collect") or re.search(UPSTREAM, text) else "wrong"


# ---- the plugin of the inner pytest


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that vllm imports on its way to what is asked for, and that are not installed."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        found = name.split(".")[0] in self.names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if found else None

    def create_module(self, spec):
        module = mock.MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


def first_fitting(self, *args, **kwargs):
    """triton.autotune without trying: the first configuration that fits."""
    from triton.runtime.errors import OutOfResources

    self.nargs = dict(zip(self.arg_names, args))
    configs = self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs
    last = None
    for config in configs:
        try:
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            made = self.fn.run(*args, **kwargs, **config.all_kwargs())
            self.best_config = config
            return made
        except OutOfResources as error:
            last = error
    raise last


def pytest_configure(config):
    if "TRITON_PUBLIC_ROWS" not in os.environ:
        return
    _state["rows"] = open(os.environ["TRITON_PUBLIC_ROWS"], "a", newline="", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_AS, (48 << 30, 48 << 30))
    from labkit import device

    device.install()
    import labkit.triton

    labkit.triton.install()
    from labkit.triton import driver

    driver.records = deque(maxlen=4096)  # what all launches of a test found, not the last ones alone
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    Autotuner.run = first_fitting
    run = JITFunction.run

    def noted(self, *args, **kwargs):
        _state["called"].append(self.fn.__name__ + "!")
        if self.fn.__name__ not in _state["begun"]:  # the process may end in it
            _state["begun"].append(self.fn.__name__)
            row(_state["file"], _state["test"], "begun", " ".join(sorted(set(_state["called"]))), "")
        made = run(self, *args, **kwargs)
        _state["called"].remove(self.fn.__name__ + "!")
        _state["called"].append(self.fn.__name__)
        return made

    JITFunction.run = noted
    if os.environ.get("TRITON_PUBLIC_STANDINS"):
        stand_in()


def stand_in() -> None:
    import torch
    import torch_npu
    import triton.experimental.gluon.nvidia  # noqa: F401  (vllm-ascend puts an empty one where it is not imported)

    sys.meta_path.append(StandIn(STANDINS))
    for name in NPU_NAMES:
        setattr(torch_npu, name, torch.uint8)
    torch.npu.ExternalEvent = torch.npu.Event
    torch_npu._C = types.SimpleNamespace(_NPUTaskGroupHandle=object)
    made = sys.modules["vllm_ascend._build_info"] = types.ModuleType("vllm_ascend._build_info")
    made.__device_type__, made.__soc_version__ = "A2", "ascend910b1"


def size(item) -> int:
    product = 1
    for value in getattr(getattr(item, "callspec", None), "params", {}).values():
        for n in value if isinstance(value, (list, tuple)) else (value,):
            product *= max(n, 1) if isinstance(n, int) and not isinstance(n, bool) else 1
    return product


def pytest_collection_modifyitems(config, items):
    files: dict = {}
    for item in items:
        name = item.nodeid.split("[")[0]
        files.setdefault(str(item.path), {}).setdefault(name, []).append(item)
    items[:] = [min(cases, key=size) for tests in files.values() for cases in tests.values()]


class Late(Exception):
    pass


def _late(*_):
    raise Late("time is up")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if str(item.path) in _state["done"]:
        pytest.skip("done")
    _state["called"], _state["begun"] = [], []
    _state["file"], _state["test"] = item.nodeid.split("::", 1)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(int(os.environ["TRITON_PUBLIC_SECONDS"]))


def row(file: str, *more: str) -> None:
    csv.writer(_state["rows"], lineterminator="\n").writerow([Path(file).name, *more])
    _state["rows"].flush()


def plain(text: str) -> str:
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", re.sub(r"/[\w./-]*/", "", " ".join(text.split())))[:300]


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        signal.alarm(0)
    file, test = report.nodeid.split("::", 1)
    if Path(file).name in {Path(p).name for p in _state["done"]} or report.when == "teardown":
        return
    if report.when == "setup" and report.outcome == "passed":
        return row(file, test, "begun", "", "")
    said = [line[4:] for line in str(report.longrepr).splitlines() if line.startswith("E   ")]
    crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
    lines = str(report.longrepr).strip().splitlines()
    text = next((s for s in said if "is not there" in s), crash or (said or lines or [""])[-1])
    if report.outcome == "passed":
        from labkit.triton import driver

        text = " ".join(sorted({c for r in driver.records for c in r.codes()}))
    called = sorted(set(_state["called"]))
    if os.environ.get("TRITON_PUBLIC_LONG") and report.outcome == "failed":
        print(report.longrepr, file=sys.__stdout__, flush=True)
    row(
        file,
        test,
        report.outcome if called or report.outcome != "passed" else "no kernel",
        " ".join(called),
        plain(text),
    )
    from labkit.triton import driver

    driver.records.clear()
    if called:
        _state["done"].add(next(p for p in _state["paths"] if Path(p).name == Path(file).name))


def pytest_sessionstart(session):
    _state["paths"] = [a for a in session.config.args]


def pytest_collectreport(report):
    if report.failed and _state["rows"] is not None:
        said = [line for line in str(report.longrepr).splitlines() if line.startswith("E  ")]
        row(report.nodeid, "", "collect", "", plain(said[-1][4:] if said else str(report.longrepr)[-300:]))


# ---- the outer program


def run(files: list[Path], folder: Path, roots: list[Path], seconds: int, standins: bool) -> dict[str, list]:
    """{file: [test, outcome, kernels, note]} of one process."""
    rows = folder / "rows.csv"
    rows.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REPO), str(REPO / "scripts"), *map(str, roots)]),
        "TRITON_PUBLIC_ROWS": str(rows),
        "TRITON_PUBLIC_SECONDS": str(seconds),
        "TRITON_PUBLIC_STANDINS": "1" if standins else "",
        "LABKIT_ARENA_GB": "8",
        "TRITON_CACHE_DIR": os.environ.get("TRITON_CACHE_DIR", str(folder / "cache")),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "triton_public", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--noconftest", "--continue-on-collection-errors", "-c", os.devnull]
    command += ["--rootdir", str(files[0].parent), "--import-mode", "importlib", *map(str, files)]
    out = None if os.environ.get("TRITON_PUBLIC_LONG") else subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=out, start_new_session=True)
    try:
        process.wait((seconds * 2 + 60) * len(files))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return outcomes(rows.read_text(encoding="utf-8") if rows.exists() else "")


def outcomes(rows: str) -> dict[str, list]:
    """What run() answers, of the rows that its process left."""
    found: dict[str, list] = {}
    for file, *rest in csv.reader(rows.splitlines()):
        if file not in found or found[file][1] == "begun" or not found[file][2]:  # until a test has called a kernel
            found[file] = rest
    for rest in found.values():
        if rest[1] == "begun":
            rest[1:] = ["failed", rest[2], "the process ended"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--together", type=int, default=6, help="files in one process")
    parser.add_argument("--vllm", type=Path)
    parser.add_argument("--more", type=Path, help="a folder with packages, as pip install --target makes one")
    for name in FILES:
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("only", nargs="*", help="parts of file names")
    args = parser.parse_args()
    table = []
    for name, folders in FILES.items():
        checkout = getattr(args, name)
        if checkout is None:
            continue
        roots = [p.resolve() for p in (checkout, args.vllm, args.more) if p]
        left = [p for folder in folders for p in sorted((checkout / folder).resolve().glob("test_*.py"))]
        left = [p for p in left if not args.only or any(part in p.name for part in args.only)]
        while left:
            now, left = left[: args.together], left[args.together :]
            with tempfile.TemporaryDirectory() as made:
                found = run(now, Path(made), roots, args.seconds, name == "ascend")
            ended = [p for p in now if found.get(p.name, ["", "", "", ""])[3] == "the process ended"]
            if ended and len(now) > 1:  # those behind it did not run
                left = now[now.index(ended[0]) + 1 :] + left
                now = now[: now.index(ended[0]) + 1]
            for p in now:
                test, outcome, kernels, note = found.get(p.name, ["", "skipped", "", "no test, or the process ended"])
                word = judged(outcome, note) if kernels else "not here"
                table.append(dict(zip(FIELDS, [NAMES[name], p.name, test, word, word, kernels, note])))
                print(*table[-1].values(), sep="  ", flush=True)
    count = {w: sum(r["outcome"] == w for r in table) for w in dict.fromkeys(r["outcome"] for r in table)}
    print(f"{len(table)} files: {count}")
    if args.write:
        kept = list(csv.DictReader(args.out.open(encoding="utf-8"))) if args.out.exists() else []
        rows = {(r["repository"], r["file"]): r for r in kept}
        for r in table:
            key = (r["repository"], r["file"])
            rows[key] = r | ({"first": rows[key]["first"]} if key in rows else {})
        with args.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main()
