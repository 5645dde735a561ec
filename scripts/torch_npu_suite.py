"""torch_npu's own tests, and torch_openreg's, on the simulated device: data/torch_npu_suite.csv.

    git -C GITDIR archive HEAD test torch_npu/testing | tar x -C TREE    # github.com/Ascend/pytorch; nothing is kept
    python scripts/torch_npu_suite.py TREE [part of a file's name ...]   # runs them (all: an hour), writes the table
    python scripts/torch_npu_suite.py TREE --more                        # runs those that were not run yet
    python scripts/torch_npu_suite.py TREE --table                       # the table alone: a file that was not run
                                                                         # here keeps the row that it has
    python scripts/torch_npu_suite.py TREE --list [ours]                 # what did not pass, with its reason

Which files: every test_*.py of the folders FOLDERS, those that stand in test/ itself except BIG, which are PyTorch's
own suites over all operators (tests/device/test_opinfo.py does that), and every test_*.py in TREE/openreg: the tests
of PyTorch's torch_openreg (test/cpp_extensions/open_registration_extension/torch_openreg/tests), where the word
"openreg" is read as "npu". Each file runs in a process of its own, with two simulated devices; what a test needs that
is not there is told by its message (REASONS). What is run is kept in run/torch_npu_suite/.
"""

from __future__ import annotations

import csv
import importlib.abc
import importlib.machinery
import json
import os
import re
import signal
import sys
import time
import types
import unittest
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
KEPT = REPO / "run" / "torch_npu_suite"
FOLDERS = "npu nn optim autograd custom_ops trans_contiguous contrib utils allocator testing".split()
# PyTorch's own suites over operators, the compiler or the graph tools, adapted: not about the device
BIG = """ops ops_gradients ops_fwd_gradients ops_jit unary_ufuncs binary_ufuncs reductions modules testing jit jit_fuser
    jit_fuser_te jit_autocast jit_api fx fx_experimental fx_passes nnapi dataloader sparse dispatch transformers
    torch nn autograd functionalization fake_tensor dvm library_refs namedtensor""".split()
SECONDS_A_TEST, SECONDS_A_FILE = 40, 400

SITE = """import pathlib, sys
sys.path.append({scripts!r})
import labkit, torch_npu_suite
from labkit.device.import_hook import after_import
after_import("torch", lambda torch: torch_npu_suite.stand_in_modules(pathlib.Path({tree!r})))  # after the device
sys.meta_path.append(torch_npu_suite.Spawned())
"""
# Why a test cannot pass here: the class, by what its message or traceback says. The first that fits is taken.
# operator: an operator of torch_npu that the simulation has not; name: another name or module of it; card: CANN, its
# kernels' names, its allocator's and its compiler's settings, the old chips' overflow flag; host: this machine's numpy,
# its version of torch, cuDNN; theirs: a fault of the test; ours: what is left.
CLASSES = ("operator", "name", "card", "host", "theirs", "ours")
OPERATOR = r"_?npu_(?!config|trace)\w+|fast_gelu\w*|scatter_update_?|fused_\w+|\w+_attention\w*|batch_norm_\w+"
REASONS: list[
    tuple[str, str, str]
] = [  # class, what fits, the reason in the table: empty for what the group has matched
    ("operator", rf"torch_npu\.({OPERATOR}): this torch_npu is labkit", ""),
    ("operator", r"'_OpNamespace' 'npu' object has no attribute '(\w+)'", ""),
    ("operator", r"operator (npu::\w+) does not exist", ""),
    ("operator", r"The underlying op of '(npu\.\w+)' has no overload name 'out'", ""),
    # modules of contrib that are a call of one operator: npu_anchor_response_flags, npu_yolo_boxes_encode,
    # npu_batch_nms, npu_roi_align, npu_ps_roi_pooling, npu_deformable_conv2d, npu_fused_attention_*
    (
        "operator",
        r"cannot import name '(npu_single_level_responsible_flags|npu_bbox_coder_encode_yolo|npu_multiclass_nms|"
        r"ROIAlign|PSROIPool|DCNv2)'",
        "",
    ),
    ("operator", r"torch_npu\.contrib\.function\.(fused_attention): this torch_npu is labkit", ""),
    ("name", r"(torch_npu\.[\w.]+): this torch_npu is labkit", ""),
    ("name", r"No module named '(torch_npu[\w.]*)'", ""),
    ("name", r"(torch\.npu\.\w+) exists in torch_npu, but the simulated", ""),
    ("name", r"torch\.npu has no '(\w+)', neither", ""),
    ("name", r"cannot import name '(\w+)' from '(?:torch_npu|labkit|torch\.npu)", ""),
    ("name", r"'NPUGraph' object has no attribute '(\w+)'", ""),
    ("name", r"(?:module|object) '?(?:torch_npu|labkit)[\w.]*'? has no attribute '(\w+)'", ""),
    ("name", r"type object 'Npu\w+' has no attribute '(\w+)'", ""),
    ("card", r"is not called!|Error operators called!|'aclnn\w+' not found", "names of CANN's kernels in the profile"),
    (
        "card",
        r"ERR0\d{4}|EZ9999|EE\d{4}|acl json|ACL_OP_INIT_MODE|aclrtMallocAlign32|preload",
        "CANN's own errors and settings",
    ),
    ("card", r"found_inf, 1.0|test_float_status\b", "the overflow flag of chips before the A2"),
    (
        "card",
        r"test_(large_segment_size|roundup_power2|expandable_segments|mempool_destructor|caching_pinned|custom_segment|"
        r"max_non_split_rounding|capture_rejects_expandable)|test_pinned_max_threshold|test_unexpandable_host_allocator",
        "how torch_npu's allocator cuts and keeps memory",
    ),
    (
        "card",
        r"no plans of Fourier transforms|test_torch_fftplancache.py.*test_size\b",
        "CANN's cache of Fourier plans",
    ),
    ("card", r"test_drop_path_shape_format", "the card's random numbers, in a file"),
    (
        "host",
        r"has no attribute 'trapz'|only 0-dimensional arrays can|No module named '(?:ml_dtypes|\w*vision)'|"
        r"torch\._native\.ops",
        "this machine's numpy or packages",
    ),
    (
        "host",
        r"skipIfMps|_multi_tensor_|Weights only load failed|unexpected keyword argument 'names'|"
        r"add_out_sparse_cpu|does not match \"Expected tensor for argument",
        "this version of torch, or its CPU",
    ),
    ("host", r"Parameter Nx=0|has no attribute 'msort'", "this machine's numpy or packages"),
    (
        "host",
        r"module 'torch\._C' has no attribute '_(?:scatter|gather|broadcast|cuda|host)\w*'|CUDA not available|"
        r"nvidia-ml-py|CUDA_HOME|ProcessGroupNCCL|Torch not compiled with CUDA|initialize_cuda|support for cuda|"
        r"without ATen_cuda|cuda_stream",
        "a build of torch without CUDA",
    ),
    (
        "host",
        r"'torch\._export' has no attribute|only floating-point types are supported as the default|"
        r"on quantized tensors yet|RNN input dtype|generator but found 'cpu'|the desired output type Byte|"
        r"unsupported operand type\(s\) for \+: 'Tensor'|Booleans mismatch: True is not False",
        "this version of torch, or its CPU",
    ),
    ("host", r"cudnn", "cuDNN"),
    ("host", r"already been set! Current backend|test_external_module_register", "the backend has a name already"),
    ("host", r"test_roll_shape_format_uint8|test_stream_event_nogil", "times measured on the host"),
    (
        "host",
        r"test_(?:npu_device_count_with_visible_devices|"
        r"to_non_blocking|copy_npu_from_pinned|copy_pinned|addmm_size_10000)[\s\S]*(?:no end|status 9)",
        "so large that it takes more than the time allowed",
    ),
    (
        "card",
        r"CAUTION: The operator|TORCH_NPU_FALLBACK_CPU_DISABLE|test_cpu_fallback_control",
        "which operators a card has no kernel for",
    ),
    (
        "card",
        r"1EB|asynchronously, the stacktrace|_npu_setDevice|Expected NPU tensor|expected scalar type\" does not match",
        "the words of an error",
    ),
    ("card", r"test_grad_scaling_multiple_2", "the overflow flag of chips before the A2"),
    (
        "host",
        r"test_fault_mode.py.*(?:launch_param|torchrun_param|aclrtSetDevice|not_supported_ops|set_device)[\s\S]*"
        r"(?:no end|status 9)",
        "a busy machine: a program of its own took more than the time allowed",
    ),
    (
        "theirs",
        r"openreg/test_(?:sdpa|ops)[\s\S]*_fused_sdp_choice|openreg/test_ops[\s\S]*OVERRIDEABLE|test_unsupported_type|"
        r"openreg/test_(?:storage|compile)[\s\S]*(?:format_number|version_number|miniz)|get_device_capability|"
        r"openreg/test_device.*index|with_unsupported_type|test_device_poison_fork",
        "torch_openreg's own choices: attention, metadata, autocast's types, capability, words of errors",
    ),
    ("card", r"per_process_memory_fraction", "how torch_npu's allocator cuts and keeps memory"),
    ("host", r"test_ipc_event[\s\S]*torch.Event ipc", "this version of torch: no events between processes"),
    ("card", r"test_npu_iou_same_shape_input", "the card's own division: 100 / 200 is 0.4985"),
    ("theirs", r"Stream\.priority_range\(\) currently", "torch_npu refuses Stream.priority_range() itself"),
    ("theirs", r"test_cuda_device_memory_allocated", "asks torch.cuda for the npu's memory, without transfer_to_npu"),
    ("theirs", r"unexpected keyword argument 'dtypes'", "a decorator of another version of torch"),
    ("theirs", r"missing \d required positional arguments", "arguments that nobody gives the test"),
    ("theirs", r"test_save_async does not exist", "a folder that the test does not make"),
    ("theirs", r"NameError: name '(\w+)' is not defined", "a name that the test does not import"),
]


# ---- in the process of one file


def stand_in_modules(tree: Path) -> None:
    """What the tests import and this machine has not: expecttest, and torch_npu.testing, from the fetched tree."""
    expecttest = types.ModuleType("expecttest")

    class TestCase(unittest.TestCase):
        longMessage = True

        def assertExpectedInline(self, actual, expect, skip=0):
            self.assertEqual(str(actual).strip(), str(expect).strip())

        def assertExpectedRaisesInline(self, kind, call, expect, *args, **kwargs):
            with self.assertRaises(kind) as raised:
                call(*args, **kwargs)
            self.assertExpectedInline(str(raised.exception), expect)

    expecttest.TestCase = TestCase
    expecttest.assert_expected_inline = lambda actual, expect, skip=0: None
    sys.modules.setdefault("expecttest", expecttest)

    class Theirs(importlib.abc.MetaPathFinder, importlib.abc.Loader):  # before ours: it says that there is none
        def find_spec(self, name, path=None, target=None):
            if name == "torch_npu.testing":
                return importlib.machinery.ModuleSpec(name, self, is_package=True)
            if name.startswith("torch_npu.testing."):
                return importlib.machinery.PathFinder.find_spec(name, path)

        def create_module(self, spec):
            return None

        def exec_module(self, module):
            _torch_npu_testing(tree, module)

    sys.meta_path.insert(0, Theirs())


def _torch_npu_testing(tree: Path, package: types.ModuleType) -> None:
    """The package, with the two modules that torch_npu's build writes."""
    from torch.testing._internal.opinfo.core import OpInfo

    built = types.ModuleType("torch_npu.testing._npu_testing_utils")
    built.update_skip_list, built.get_decorators = (lambda: None), OpInfo.get_decorators
    sys.modules[built.__name__] = built
    package.__path__ = [str(tree / "torch_npu" / "testing")]
    manager = types.ModuleType("torch_npu.utils._path_manager")
    manager.PathManager = type("PathManager", (), {n: staticmethod(lambda *a, **k: None) for n in (
        "check_path_owner_consistent", "check_directory_path_readable", "check_directory_path_writeable",
        "check_input_file_path", "make_dir_safety", "remove_path_safety")})  # fmt: skip
    sys.modules[manager.__name__] = manager
    source = (tree / "torch_npu" / "testing" / "__init__.py").read_text(encoding="utf-8")
    exec(compile(source, "torch_npu/testing/__init__.py", "exec"), package.__dict__)


class Spawned(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """In a process that a test has spawned: the test's file, which is "suite" in run_file() and "__mp_main__" there."""

    def find_spec(self, name, path=None, target=None):
        if name == "suite" and "__mp_main__" in sys.modules:
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return sys.modules["__mp_main__"]

    def exec_module(self, module):
        pass


class Result(unittest.TestResult):
    """Writes a line when a test begins and one when it ends, so that a crash loses one test."""

    def __init__(self, out):
        super().__init__()
        self.out, self.told = out, False

    def say(self, test, how, error=None):
        text = ""
        if error is not None and not isinstance(error, str):
            text = self._exc_info_to_string(error, test)
        self.told = self.told or how != "begin"
        self.out.write(json.dumps([test.id(), how, error if isinstance(error, str) else text[-3000:]]) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.told = False
        self.say(test, "begin")
        signal.alarm(SECONDS_A_TEST)

    def stopTest(self, test):
        signal.alarm(0)
        if not self.told:  # its sub-tests have failed, or all passed
            self.say(test, "pass")
        super().stopTest(test)

    def addSuccess(self, test):
        self.say(test, "pass")

    def addFailure(self, test, error):
        self.say(test, "fail", error)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.say(test, "fail", error)

    def addSkip(self, test, reason):
        self.say(test, "skip", str(reason))

    def addExpectedFailure(self, test, error):
        self.say(test, "pass")

    def addUnexpectedSuccess(self, test):
        self.say(test, "fail", "unexpected success")


def late(*_):
    raise TimeoutError(f"no end after {SECONDS_A_TEST} s")


def run_file(tree: Path, file: Path, out, without: set[str]) -> None:
    signal.signal(signal.SIGALRM, late)
    os.chdir(file.parent)
    sys.path[:0] = [str(file.parent), str(tree / "test")]
    source = file.read_text(encoding="utf-8")
    for name, value in re.findall(r"""^os.environ\[["'](TORCH_\w+)["']\] = ["'](\w+)["']""", source, re.MULTILINE):
        os.environ[name] = value  # what it sets before its first import
    import labkit.device

    labkit.device.install()
    stand_in_modules(tree)
    import torch_npu.testing  # noqa: F401

    if file.parent.name == "openreg":
        source = source.replace("torch_openreg", "torch_npu").replace("openreg", "npu").replace("OpenReg", "NPU")
    main = sys.modules["__main__"]
    main.__dict__.update(__name__="suite", __file__=str(file), __package__=None)
    sys.modules["suite"] = main
    sys.argv = [str(file)]
    import linecache

    linecache.cache[str(file)] = (len(source), None, source.splitlines(True), str(file))
    exec(compile(source, str(file), "exec"), main.__dict__)
    suite = unittest.TestLoader().loadTestsFromModule(main)

    def flat(s):
        for t in s:
            if isinstance(t, unittest.TestSuite):
                yield from flat(t)
            elif t.id() not in without:
                yield t

    whole = unittest.TestSuite(flat(suite))
    result = Result(out)
    # a class's set-up that raises is one failed test, as unittest has it
    whole.run(result)


# ---- all files


def files(tree: Path) -> list[Path]:
    test = tree / "test"
    found = [f for folder in FOLDERS for f in sorted((test / folder).glob("**/test_*.py"))]
    found += [f for f in sorted(test.glob("test_*.py")) if f.stem[5:] not in BIG]
    return found + sorted((tree / "openreg").glob("test_*.py"))


def lines(path: Path) -> list:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def kept_lines(tree: Path, file: Path) -> Path:
    return KEPT / (str(file.relative_to(tree)).removeprefix("test/").replace("/", "__") + ".jsonl")


def one(tree: Path, file: Path) -> None:
    """Runs a file; after a crash again, without the test that crashed."""
    name = str(file.relative_to(tree)).removeprefix("test/")
    kept = kept_lines(tree, file)
    kept.unlink(missing_ok=True)
    begun = time.monotonic()
    for _ in range(8):
        done = {test for test, _, _ in lines(kept)}
        child = os.fork()
        if child == 0:
            os.setsid()
            with open(kept, "a", encoding="utf-8") as out:
                log = os.open(str(kept) + ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(log, 1)
                os.dup2(log, 2)
                try:
                    run_file(tree, file, out, done)
                    code = 0
                except BaseException as error:
                    import traceback

                    text = "".join(traceback.format_exception(error))
                    out.write(
                        json.dumps(
                            ["(import)", "skip" if isinstance(error, unittest.SkipTest) else "fail", text[-3000:]]
                        )
                        + "\n"
                    )
                    out.flush()
                    code = 0
            os._exit(code)
        while True:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > SECONDS_A_FILE:
                os.killpg(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                break
            time.sleep(0.05)
        try:
            os.killpg(child, signal.SIGKILL)  # what it left running
        except OSError:
            pass
        if status == 0:
            break
        found = lines(kept)
        with open(kept, "a", encoding="utf-8") as out:
            if found and found[-1][1] == "begin":
                how = f"crash: the process ended with status {status}"
                out.write(json.dumps([found[-1][0], "fail", how]) + "\n")
            else:
                out.write(json.dumps(["(file)", "fail", f"the process ended with status {status}"]) + "\n")
                break
        if time.monotonic() - begun > SECONDS_A_FILE:
            break
    counts = Counter(how for _, how, _ in outcomes(kept))
    print(f"{name:60} {dict(counts)} {time.monotonic() - begun:.0f} s", flush=True)


def outcomes(kept: Path) -> list[tuple[str, str, str]]:
    """(test, pass | skip | fail, why) of a file that was run; a test with several outcomes has failed."""
    best: dict[str, tuple[str, str]] = {}
    rank = {"begin": 0, "pass": 1, "skip": 2, "fail": 3}
    for test, how, why in lines(kept):
        if test not in best or rank[how] > rank[best[test][0]]:
            best[test] = (how, why)
    return [
        (t, "fail" if how == "begin" else how, why or ("no end" if how == "begin" else ""))
        for t, (how, why) in best.items()
    ]


def reason(name: str, test: str, why: str) -> tuple[str, str]:
    for kind, pattern, text in REASONS:
        match = re.search(pattern, f"{name} {test}\n{why}")
        if match:
            return kind, text or match.group(1)
    told = [line for line in why.splitlines() if re.match(r"[\w.]+(Error|Exception|Warning)\b|crash", line)]
    return "ours", (told or [why.strip()[-120:]])[-1][:120]


def table(tree: Path) -> list[tuple]:
    rows = []
    with open(REPO / "data" / "torch_npu_suite.csv", encoding="utf-8", newline="") as old:
        before = {row[0]: (row[0], *map(int, row[1:-1]), row[-1]) for row in list(csv.reader(old))[1:]}
    for file in files(tree):
        name = str(file.relative_to(tree)).removeprefix("test/")
        if name in before and not kept_lines(tree, file).exists():  # run on another machine, or in another tree
            rows.append(before[name])
            continue
        found = outcomes(kept_lines(tree, file))
        why = [reason(name, t, w) for t, how, w in found if how == "fail"]
        kinds = Counter(kind for kind, _ in why)
        texts = Counter(f"{kind}: {text}" for kind, text in why)
        told = "; ".join(f"{text} ({n})" for text, n in texts.most_common(8))
        counts = [sum(how == h for _, how, _ in found) for h in ("pass", "skip")]
        rows.append((name, len(found), *counts, *(kinds[k] for k in CLASSES), told))
    return rows


def main() -> None:
    tree, *rest = sys.argv[1:]
    tree = Path(tree).resolve()
    KEPT.mkdir(parents=True, exist_ok=True)
    if rest[:1] == ["--list"]:
        for file in files(tree):
            name = str(file.relative_to(tree)).removeprefix("test/")
            for test, how, why in outcomes(kept_lines(tree, file)):
                if how == "fail":
                    kind, text = reason(name, test, why)
                    if kind in rest[1:] or not rest[1:]:
                        print(f"{kind}\t{name}\t{test}\t{text}")
        return
    if rest != ["--table"]:
        os.environ.update(
            LABKIT_NPUS="2", PYTORCH_TESTING_DEVICE_EXCEPT_FOR="cuda,cpu", TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        )
        os.environ["PYTORCH_PRINT_REPRO_ON_FAILURE"] = "0"
        # A test's own processes find the device and these modules as it does.
        (KEPT / "site").mkdir(exist_ok=True)
        (KEPT / "site" / "sitecustomize.py").write_text(SITE.format(scripts=str(REPO / "scripts"), tree=str(tree)))
        os.environ["PYTHONPATH"] = f"{KEPT / 'site'}:{REPO}:{os.environ.get('PYTHONPATH', '')}"
        os.environ["LABKIT_DEVICE"] = "none"
        import numpy  # noqa: F401  (here once; the files' processes begin with it)
        import scipy.signal  # noqa: F401
        import sympy  # noqa: F401
        import torch  # noqa: F401

        sys.path.insert(0, str(REPO))
        os.environ["LABKIT_DEVICE"] = "sim"
        more = rest == ["--more"]
        for file in files(tree):
            if more and kept_lines(tree, file).exists():
                continue
            if more or not rest or any(part in str(file.relative_to(tree)) for part in rest):
                one(tree, file)
    rows = table(tree)
    with open(REPO / "data" / "torch_npu_suite.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("file", "tests", "passed", "skipped", *CLASSES, "reasons"))
        writer.writerows(rows)
    total = dict(zip(("tests", "passed", "skipped", *CLASSES), (sum(c) for c in zip(*(row[1:-1] for row in rows)))))
    passed, ran = total["passed"], total["tests"] - total["skipped"]
    print(total)
    print(f"of those that need no absent operator {passed / (ran - total['operator']):.4f} pass, of those that need no "
          f"absent name either {passed / (ran - total['operator'] - total['name']):.4f}, "
          f"of those that this machine can run {passed / (passed + total['ours']):.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
