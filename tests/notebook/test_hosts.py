"""The notebooks print the same on every host.

What is committed was computed on one machine. Another has other vector instructions, and then ATen, MKL and oneDNN add
up in another order, take other polynomials for exp, and even draw other normal numbers (torch.randn has a path of its
own for AVX2). So the two readings of the notebooks are compared here under the settings that make one host act as
others do, not all on the host as it is. Each notebook is an item of its own: a red one names the notebook and the host.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
import zlib

import pytest
from warm_nbval import Warm

from labkit import paths
from labkit.notebook import build, verify
from labkit.notebook.cells import Variant
from labkit.notebook.execute import environment


def _features() -> set[str]:
    """The CPU's instruction sets, as Linux names them."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            return set(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())
    except OSError:
        return set()


X86, FEATURES = platform.machine() == "x86_64", _features()

# ATEN_CPU_CAPABILITY: what ATen's own loops were compiled for. ONEDNN_MAX_CPU_ISA, MKL_CBWR: what the libraries for
# matrix products may use. OMP_NUM_THREADS: into how many parts ATen cuts a sum. LABKIT_MARCH: what the twin is compiled
# for; LABKIT_THREADS: on how many threads it runs blocks. A host that lacks what a line asks for takes the next lower;
# only LABKIT_MARCH must be what it can run. GLIBC_TUNABLES: the C library's exp, log, sin as they are without fused
# multiply-add.
HOSTS = {
    "this": {},
    # an x86-64 of 2004, one core: no AVX, no FMA, no F16C
    "oldest": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "OMP_NUM_THREADS": "1",
        "LABKIT_THREADS": "1",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",
    }
    | ({"LABKIT_MARCH": "x86-64"} if X86 else {}),
    # a desktop computer or laptop with AVX2 and without AVX-512, two cores
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_CBWR": "AVX2",
        "OMP_NUM_THREADS": "2",
        "LABKIT_THREADS": "2",
    }
    | ({"LABKIT_MARCH": "haswell"} if {"avx2", "fma", "bmi2"} <= FEATURES and "avx512f" in FEATURES else {}),
}

# The unsolved notebooks as they are committed; the solved ones, where an exercise that does not pass is an error too.
# Each notebook is compared once, in one reading on one host, which take turns over the notebooks.
# LABKIT_HOSTS=two, which CI sets, compares each one solved, whose cells are those of the unsolved one with the stubs
# filled in: one in OLDEST as the oldest host prints it, the others on this one, which has compiled their kernels for
# other tests. One in UNSOLVED is run as committed too, on the other host. The files' checksums say which: others after
# each change. LABKIT_HOSTS=all compares every notebook on every host; AVX2 needs a twin of its own to be built, whose
# numbers lie between those of the other two.
TURNS = (("unsolved", "this"), ("solved", "oldest"), ("unsolved", "oldest"), ("solved", "this"))
EVERY = (("unsolved", "this"), ("solved", "oldest"), ("unsolved", "avx2"))
# The committed Chinese notebooks run the same cells, and the gate holds their outputs' numbers to the English ones. So
# CHINESE of them are run, those whose files have the lowest checksums: others after each change. All of them:
#   LABKIT_HOSTS=all pytest tests/notebook/test_hosts.py -k zh
CHINESE = 4
OLDEST, UNSOLVED = 8, 16
WITHOUT_TRITON = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Stage 07 needs Triton: pip install 'labkit[triton]'"
)
HOW_MANY = os.environ.get("LABKIT_HOSTS", "one")


def chosen(number: int, notebook) -> tuple[tuple[str, str], ...]:
    """The (reading, host) on which the notebook at this place is compared."""
    if HOW_MANY == "all":
        return EVERY
    if HOW_MANY == "two":
        file = notebook.target(paths.notebooks_dir(), "en")
        checksum = zlib.crc32(file.read_bytes()) if file.is_file() else 1
        here, there = ("this", "oldest") if checksum % OLDEST else ("oldest", "this")
        return (("solved", here), ("unsolved", there)) if checksum // OLDEST % UNSOLVED == 0 else (("solved", here),)
    return (TURNS[number % len(TURNS)],)


def drawn(notebooks: list) -> list:
    """Those that are run in Chinese too."""
    files = {notebook.id: notebook.target(paths.notebooks_dir(), "zh") for notebook in notebooks}
    there = [notebook for notebook in notebooks if files[notebook.id].is_file()]
    by_checksum = sorted(there, key=lambda notebook: zlib.crc32(files[notebook.id].read_bytes()))
    return by_checksum[: None if HOW_MANY == "all" else CHINESE]


def runs() -> list:
    """(notebook, reading, host) of each comparison."""
    notebooks = build.chosen(None)
    found = [(n, *how) for number, n in enumerate(notebooks) for how in chosen(number, n)]
    found += [(notebook, "zh", "this") for notebook in drawn(notebooks)]
    return [
        pytest.param(
            n, reading, host, id=f"{n.number}-{reading}-{host}", marks=WITHOUT_TRITON if n.number[:2] == "07" else ()
        )
        for n, reading, host in found
    ]


@pytest.fixture(scope="module")
def warm():
    """On which host -> a process that has imported torch, for the solved notebooks. The committed ones, English and
    Chinese, run in kernels that begin with nothing, as a reader's do.
    """
    made: dict[str, Warm] = {}

    def on(host: str) -> Warm:
        if host not in made:
            env = environment(**HOSTS[host])
            verify.build_twin(env)
            made[host] = Warm(env)
        return made[host]

    yield on
    for one in made.values():
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("notebook, reading, host", runs())
def test_a_notebook_prints_the_same_on_every_host(notebook, reading, host, tmp_path, warm):
    if reading == "solved":
        books = verify.variant(tmp_path, Variant("solved"), [notebook.id])
        ran = warm(host).nbval(verify.nbval_words(books), tmp_path, LABKIT_STRICT="1")
    else:
        ran = verify.nbval(
            [notebook.target(paths.notebooks_dir(), "zh" if reading == "zh" else "en")], settings=HOSTS[host]
        )
    assert ran.returncode == 0, ran.stdout


PRODUCT = """
import hashlib, torch, labkit
g = torch.Generator().manual_seed(0)
a, b = (((torch.rand(shape, generator=g) - 0.5) * 8).half() for shape in ((70, 300), (300, 40)))
a[3, 5], a[7, 9], a[9], b[:, 11], b[5, 7], b[2, 2] = float("inf"), 6e-8, 60000, 60000, 0, float("nan")
c = torch.empty(70, 40).npu()
labkit.kernel("kernels/matmul/cube.asc", entry="cube_product<2>")[2](a.npu(), b.npu(), c, 70, 40, 300)
print(hashlib.sha256(c.cpu().numpy().tobytes()).hexdigest())
"""


def said(program: str, host: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment(**HOSTS[host]), capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_product_of_the_twin_has_the_same_bits_on_every_host():
    """Sums of random numbers round; where there is no fused multiply-add the twin comes
    to the same bits by another way.
    """
    hosts = HOSTS if HOW_MANY == "all" else ("this", "oldest")  # each is a twin to build
    assert len({bits for host in hosts for bits in said(PRODUCT, host)}) == 1


ARITHMETIC = """
import hashlib, torch
torch.manual_seed(0)
x = torch.rand(4099) * 8 - 4
for found in torch.randn(64), torch.sigmoid(x), torch.rand(40, 300) @ torch.rand(300, 40):
    print(hashlib.sha256(found.numpy().tobytes()).hexdigest())
"""


@pytest.mark.skipif(
    "avx2" not in FEATURES, reason="This host is the oldest that is asked for: there is no older one to act as."
)
def test_the_settings_change_what_pytorch_computes():
    """Without this the comparison above could be green because the settings have no effect."""
    this, oldest = said(ARITHMETIC, "this"), said(ARITHMETIC, "oldest")
    assert len(this) == 3 and all(a != b for a, b in zip(this, oldest)), (this, oldest)
