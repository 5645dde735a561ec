"""Builds the package lab_silu on a node: `source .../set_env.sh`, then `pip install --no-build-isolation .`

Takes CANN 9.0 or newer, torch and torch_npu. NpuExtension of torch_npu is for host code alone (operators made of aclnn
calls): it does not know Ascend C, so bisheng is called here.
"""

import importlib.util
import subprocess
import sysconfig
from pathlib import Path

import torch
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from torch.utils import cpp_extension

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "silu_torch.asc"


def command(source: Path, output: Path, torch_npu: Path) -> list[str]:
    """One call of bisheng: kernel and adapter, for the device and the host, into a library that torch can load."""
    torch_lib = Path(torch.__file__).parent / "lib"
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    folders = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"], str(torch_npu / "include")]
    return [
        *("bisheng", "-x", "asc", "--npu-arch=dav-2201", "-O2", "-shared", "-fPIC"),
        "-std=c++20" if version >= (2, 13) else "-std=c++17",  # what torch's own headers ask for
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",  # std::string as torch has it
        *(f"-I{folder}" for folder in folders),
        *(str(source), "-o", str(output)),
        *(f"-L{torch_lib}", f"-L{torch_npu / 'lib'}", "-ltorch_npu", "-ltorch", "-lc10"),
    ]


class Bisheng(build_ext):
    """build_ext that leaves the work to bisheng."""

    def build_extension(self, ext):
        found = importlib.util.find_spec("torch_npu")  # its folder, without importing it
        if found is None:
            raise SystemExit("torch_npu is not installed in this Python")
        output = Path(self.get_ext_fullpath(ext.name))
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.check_call(command(SOURCE, output, Path(found.origin).parent))


if __name__ == "__main__":
    setup(
        name="lab_silu",
        version="0.1",
        packages=["lab_silu"],
        ext_modules=[Extension("lab_silu._ops", [])],
        cmdclass={"build_ext": Bisheng},
    )
