"""torch_npu.utils.collect_env: what a report of a fault says of the machine. `python -m torch.utils.collect_env` knows
most of it; here are torch_npu and CANN beside it.
"""

from __future__ import annotations

import os
import platform
import re
import site
import sys
import warnings
from collections import namedtuple
from pathlib import Path

import torch
import torch_npu
from torch.utils import collect_env as of_torch

TORCH_AVAILABLE = TORCH_NPU_AVAILABLE = True  # a program may say otherwise

_LABELS = {
    "torch_version": "PyTorch version",
    "torch_npu_version": "Torch-npu version",
    "is_debug_build": "Is debug build",
    "os": "OS",
    "gcc_version": "GCC version",
    "clang_version": "Clang version",
    "cmake_version": "CMake version",
    "libc_version": "Libc version",
    "python_version": "Python version",
    "python_platform": "Python platform",
    "is_xnnpack_available": "Is XNNPACK available",
    "caching_allocator_config": "Allocator's settings",
}
SystemEnv = namedtuple("SystemEnv", [*_LABELS, "pip_version", "pip_packages", "conda_packages", "cpu_info",
                                     "cann_version"])  # fmt: skip


def get_torch_npu_install_path() -> str:
    return next(iter(site.getsitepackages()), "")


def check_directory_path_readable(path: str) -> None:
    for wrong, what in (
        (not os.path.exists(path), "There is nothing at"),
        (os.path.islink(path), "A link is not followed"),
        (not os.access(path, os.R_OK), "May not be read"),
    ):
        if wrong:
            raise RuntimeError(f"{what}: {path}")


def check_path_owner_consistent(path: str) -> None:
    warnings.warn("check_path_owner_consistent() looks no longer for an owner: use check_directory_path_readable()",
                  FutureWarning, stacklevel=2)  # fmt: skip
    if not os.path.exists(path):
        raise RuntimeError(f"There is nothing at: {path}")


def get_cann_version() -> str:
    """Of the CANN that ASCEND_HOME_PATH names; "not known" where there is none."""
    home = os.environ.get("ASCEND_HOME_PATH", "")
    for file in sorted(Path(home).rglob("ascend_*_install.info")) if home else ():
        if found := re.search(r"^version=(\S+)", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
            return found.group(1)
    return "not known"


def get_torch_npu_version() -> str:
    return torch_npu.__version__ if TORCH_NPU_AVAILABLE else "N/A"


def get_env_info() -> SystemEnv:
    run = of_torch.run
    pip, packages = of_torch.get_pip_packages(run)
    return SystemEnv(
        torch_version=torch.__version__ if TORCH_AVAILABLE else "N/A",
        torch_npu_version=get_torch_npu_version(),
        is_debug_build=str(torch.version.debug) if TORCH_AVAILABLE else "N/A",
        os=of_torch.get_os(run),
        gcc_version=of_torch.get_gcc_version(run),
        clang_version=of_torch.get_clang_version(run),
        cmake_version=of_torch.get_cmake_version(run),
        libc_version="-".join(filter(None, platform.libc_ver())),
        python_version=f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=of_torch.get_python_platform(),
        is_xnnpack_available=of_torch.is_xnnpack_available(),
        caching_allocator_config=os.environ.get("PYTORCH_NPU_ALLOC_CONF", "default"),
        pip_version=pip,
        pip_packages=packages,
        conda_packages=of_torch.get_conda_packages(run),
        cpu_info=of_torch.get_cpu_info(run),
        cann_version=get_cann_version(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    def said(value) -> str:
        return {True: "Yes", False: "No", None: "Could not collect"}.get(value, value)

    lines = [f"{label}: {said(getattr(envinfo, name))}" for name, label in _LABELS.items()]
    lines += ["", "CPU:", said(envinfo.cpu_info), "", "CANN:", said(envinfo.cann_version), ""]
    lines += ["Versions of relevant libraries:"]
    for packages, by in ((envinfo.pip_packages, envinfo.pip_version), (envinfo.conda_packages, "conda")):
        lines += [f"[{by}] {line}" for line in said(packages or None if by == "conda" else packages).splitlines()]
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    return pretty_str(get_env_info())


def main() -> None:
    print(get_pretty_env_info())
