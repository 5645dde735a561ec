"""The one place where the doctor touches the machine.

Every absolute path is looked up below `root`, and everything else goes through a method, so that a test describes a
machine (an Ascend node, a laptop without a compiler) by a folder and a subclass. Nothing here imports torch or
torch_npu: importing the latter without CANN raises, and with CANN but without a device it takes PyTorch's PrivateUse1
backend away from the simulated device.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from labkit import paths
from labkit.build import runtime
from labkit.environment import housekeeping

CANN_FALLBACKS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
PROBE_TIMEOUT_S = 180.0  # more than the 120 s that the child gives itself
_TARGET_PROBE = "import sys; from labkit.device.detect import usable_npu; sys.exit(not usable_npu())"


class Facts:
    """What is known of this machine. Methods are cheap unless they say otherwise."""

    def __init__(self, root: str | os.PathLike = "/", env: Mapping[str, str] | None = None):
        self.root = Path(root)
        self.env = dict(os.environ if env is None else env)

    # ---- files

    def path(self, absolute: str) -> Path:
        """`absolute`, which may begin with ~, below the root of this machine."""
        if absolute.startswith("~"):
            absolute = self.env.get("HOME", "/root") + absolute[1:]
        return self.root / absolute.lstrip("/")

    def read(self, path: Path) -> str:
        """The text of a file, "" when it can not be read."""
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def access(self, path: Path) -> bool:
        """Whether this user may read and write `path`."""
        return os.access(path, os.R_OK | os.W_OK)

    # ---- the machine

    def python(self) -> tuple[int, int, int]:
        return sys.version_info[:3]

    def platform(self) -> str:
        return sys.platform

    def machine(self) -> str:
        return os.uname().machine

    def shell(self, name: str) -> str | None:
        """A variable as the shell set it: importing labkit sets TORCH_DEVICE_BACKEND_AUTOLOAD in its own process."""
        started_with = self.read(self.path("/proc/self/environ"))
        if not started_with:
            return self.env.get(name)
        pairs = dict(line.partition("=")[::2] for line in started_with.split("\0"))
        return pairs.get(name)

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def user(self) -> str:
        return self.env.get("USER") or self.env.get("LOGNAME") or "$USER"

    def cores(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def memory(self) -> tuple[int, int]:
        """(total, available) bytes; (0, 0) when /proc does not say."""
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", self.read(self.path("/proc/meminfo")), re.M))
        return int(found.get("MemTotal", 0)) << 10, int(found.get("MemAvailable", 0)) << 10

    def which(self, name: str) -> str | None:
        return shutil.which(name, path=self.env.get("PATH"))

    def cache(self) -> Path:
        """The cache folder. Raises OSError when it can not be made or written."""
        folder = paths.cache_dir()
        with tempfile.TemporaryFile(dir=folder):
            return folder

    def disk_free(self, folder: Path) -> int:
        return shutil.disk_usage(folder).free

    # ---- programs

    def compiler(self) -> str:
        """Version line of the compiler that the lab uses, after it compiled one line for real (0.2 s, then cached).

        Raises labkit.build.compiler.ToolError or labkit.CompileError.
        """
        from labkit.build import compiler

        version = compiler.cxx_version(compiler.find_cxx())
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "one_line.cpp"
            source.write_text(
                '#include <cstdint>\nextern "C" int32_t one() { if constexpr (sizeof(int) == 4) return 1; return 0; }\n'
            )
            compiler.build([source], flags=["-std=c++17", "-O1"], name="doctor")
        return version

    # ---- Python packages, found without importing them

    def version(self, distribution: str) -> str | None:
        """The version of an installed distribution, None when there is none."""
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def folder(self, module: str) -> Path | None:
        """Where a top-level module lies. find_spec does not import those."""
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        return Path(spec.origin).parent if spec and spec.origin else None

    def torch_range(self) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """("torch>=2.6,<2.16", (2, 6), (2, 16)), as pyproject.toml states it."""
        stated = importlib.metadata.requires("labkit") or []
        text = next((r for r in stated if re.match(r"torch[<>]", r) and "lab" in r), "")
        low, high = re.search(r">=(\d+)\.(\d+)", text), re.search(r"<(\d+)\.(\d+)", text)
        low, high = tuple(map(int, low.groups())), tuple(map(int, high.groups()))
        return f"torch>={low[0]}.{low[1]},<{high[0]}.{high[1]}", low, high

    def torch_cuda(self) -> str | None:
        """The CUDA version that the installed torch was built for; None for a CPU build."""
        folder = self.folder("torch")
        found = re.search(r"^cuda[^=]*=\s*'([\d.]+)'", self.read(folder / "version.py"), re.M) if folder else None
        return found.group(1) if found else None

    # ---- Ascend

    def cann(self) -> tuple[Path, str] | None:
        """(folder of CANN, where that was learnt: a variable's name or "found"); None when there is none.

        A variable that names a folder which is not there still counts: the doctor reports it.
        """
        for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
            if self.env.get(name):
                return self.path(self.env[name]), name
        for candidate in CANN_FALLBACKS:
            if self.path(candidate).is_dir():
                return self.path(candidate), "found"
        return None

    def cann_version(self, home: Path) -> str | None:
        """ "9.1.0" or "8.2.RC1", from the install info beside the libraries."""
        folders = [home / f"{self.machine()}-linux", home]
        for folder in folders:
            found = re.search(r"^version=(\S+)", self.read(folder / "ascend_toolkit_install.info"), re.M)
            if found:
                return found.group(1)
        return None

    def bisheng(self, home: Path) -> Path | None:
        """CANN's compiler: on the PATH, else in the places where releases keep it."""
        named = self.which("bisheng")
        places = [
            home / folder / "bisheng"
            for folder in ("bin", "tools/bisheng_compiler/bin", "compiler/ccec_compiler/bin", "compiler/bishengir/bin")
        ]
        return Path(named) if named else next((p for p in places if p.is_file()), None)

    def npu_devices(self) -> list[Path]:
        """/dev/davinci0 ... in the order of their numbers."""
        found = [p for p in self.path("/dev").glob("davinci*") if re.fullmatch(r"davinci\d+", p.name)]
        return sorted(found, key=lambda p: int(p.name[7:]))

    def npu_managers(self) -> list[Path]:
        """The device files beside them that a process needs as well; those that exist."""
        return [p for name in ("davinci_manager", "devmm_svm", "hisi_hdc") if (p := self.path(f"/dev/{name}")).exists()]

    def driver(self) -> str | None:
        """Version of the Ascend driver (HDK)."""
        found = re.search(r"^Version=(\S+)", self.read(self.path("/usr/local/Ascend/driver/version.info")), re.M)
        return found.group(1) if found else None

    def usable_npu(self) -> tuple[bool, str]:
        """(usable, key of the reason): "forced", "no-device", "no-torch-npu", "probe" (a child process tried it).

        The order is that of labkit.device.detect, which the child asks; without a card no child is needed.
        Some seconds on a node.
        """
        forced = self.shell("LABKIT_DEVICE")  # of the shell: labkit.setup() sets it too
        if forced in ("sim", "npu"):
            return forced == "npu", "forced"
        if not self.npu_devices():
            return False, "no-device"
        if self.folder("torch_npu") is None:
            return False, "no-torch-npu"
        child = subprocess.run(
            [sys.executable, "-c", _TARGET_PROBE],
            env={**self.env, "LABKIT_DEVICE": "none"},
            timeout=PROBE_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return child.returncode == 0, "probe"

    # ---- what the lab builds

    def built(self, what: str) -> bool:
        """Whether "twin" or "device" is in the cache."""
        return housekeeping.built(what)

    def unconfined(self) -> list[str]:
        """What does not keep a launched kernel to its own memory here, a line each: the runner tries it on itself."""
        run = subprocess.run(
            [str(runtime.runner()), "confine"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
        )
        return run.stdout.splitlines() if run.returncode == 0 else [run.stderr.strip() or f"status {run.returncode}"]
