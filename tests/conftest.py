"""What every test shares: a fixed language, no autoloaded backend, no window, repeatable random examples.

The environment is set before anything imports labkit or torch, and child processes inherit it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import zlib
from pathlib import Path

import pytest

for _name in ("LABKIT_LANG", "LABKIT_STRICT", "LABKIT_TARGET", "LABKIT_DEVICE"):
    os.environ.pop(_name, None)
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
os.environ["LABKIT_REMARKS"] = "raise"  # labkit/exercises/known_mistakes.py: a remark that fails
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a thread that waits leaves its core to the other worker
sys.modules.setdefault("rfc3987_syntax", None)  # a second of every process' start: see labkit/notebook/__init__.py
os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")  # jupyter_core warns on standard error without it

# An assertion that fails in what tests share says what the values were, as one in a test does.
pytest.register_assert_rewrite(*(path.stem for path in (Path(__file__).parent / "support").glob("*.py")))

try:
    import hypothesis
except ModuleNotFoundError:
    pass
else:
    # No deadline: the first launch compiles. What is drawn follows from the test's own name: see `draws` below.
    hypothesis.settings.register_profile(
        "lab", deadline=None, derandomize=False, database=None, report_multiple_bugs=False
    )
    hypothesis.settings.load_profile("lab")
    # Hypothesis follows each fresh example by up to five copies with one value moved to another place. Of the 20
    # examples that a launch's form gets, 16 were near copies of four (14 of 20 with `times` = 0). tests/test_draws.py
    # counts.
    from hypothesis.internal.conjecture import engine

    engine.ConjectureRunner.generate_mutations_from = lambda self, data: None


# ---- a run that is ended early still tells what failed


def pytest_configure(config):
    """SIGTERM ends a run as Ctrl-C does, with a summary."""
    if not hasattr(config, "workerinput") and sys.platform != "win32":
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        config.pluginmanager.register(Failures(config), "lab-failures")


class Failures:
    """Of the process that the terminal belongs to: each failure is named as it comes, there and in run/failed.txt."""

    def __init__(self, config):
        self.config, self.file = config, Path(__file__).resolve().parents[1] / "run" / "failed.txt"
        with contextlib.suppress(OSError):
            self.file.unlink(missing_ok=True)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        if not report.failed:
            return
        crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
        why = (getattr(crash, "message", "") or str(report.longrepr)).strip().partition("\n")[0][:160]
        line = f"{'FAILED' if report.when == 'call' else 'ERROR'} {report.nodeid} - {why}"
        if terminal := self.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.ensure_newline()
            terminal.write_line(line, red=True)
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(exist_ok=True)
            with self.file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def pytest_keyboard_interrupt(self):
        """Workers are asked to end, and answer behind the test that they are at, which may be minutes."""
        from labkit.build.process import descendants

        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def repo() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def draws(request, monkeypatch):
    """Random examples that are the same in every run, and others in each test and for each of its parameters.

    Not hypothesis' own derandomize: it takes the seed from the source of the function with @given alone, so that a
    function inside a test drew the same values for all eight types that the test is run with. The name is the seed,
    not the path: a test that moves to another folder keeps its examples. --hypothesis-seed still has the last word.
    """
    core = sys.modules.get("hypothesis.core")
    if core is not None and core.global_force_seed is None:
        monkeypatch.setattr(core, "global_force_seed", zlib.crc32(request.node.name.encode()))


@pytest.fixture(autouse=True)
def cold():
    """Launches begin with an empty L2 unless a test says otherwise: what it times depends on no launch before it."""
    kernel = sys.modules.get("labkit.launch.kernel")
    if kernel is not None:
        kernel.DEFAULT_L2 = "cold"
        kernel.runner.clear_l2()
