"""What pyproject.toml cannot say: notebooks/, kernels/ and data/ go into the package as labkit/share, with the files
that a student's copy needs (labkit release), and a platform wheel (LABKIT_PLATFORM_WHEEL=1, see
scripts/platform_wheel.py) brings the built runtime as labkit/shipped.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SHARED = ("notebooks", "kernels", "data", "scripts")
FILES = ("pyproject.toml", "README.md", "README.zh.md", "LICENSE", "Makefile", "environment.yml", "environment.npu.yml")
PLATFORM = os.environ.get("LABKIT_PLATFORM_WHEEL") == "1"


class BuildWithShare(build_py):
    def run(self):
        super().run()
        if self.editable_mode:  # the checkout itself is used
            return
        package = Path(self.build_lib).resolve() / "labkit"
        for name in SHARED:
            shutil.rmtree(package / "share" / name, ignore_errors=True)
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", ".labkit")
            shutil.copytree(ROOT / name, package / "share" / name, ignore=ignored)
        for name in filter(os.path.isfile, (ROOT / name for name in FILES)):
            shutil.copy2(name, package / "share")
        shutil.rmtree(package / "shipped", ignore_errors=True)
        if PLATFORM:
            words = dict(os.environ, PYTHONPATH=str(ROOT))
            subprocess.run(
                [sys.executable, str(ROOT / "scripts/build_shipped.py"), str(package / "shipped")],
                env=words,
                check=True,
            )


class Lab(Distribution):
    def has_ext_modules(self):
        return PLATFORM


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", "linux_" + platform.machine()) if PLATFORM else super().get_tag()


setup(distclass=Lab, cmdclass={"build_py": BuildWithShare, "bdist_wheel": PlatformWheel})
