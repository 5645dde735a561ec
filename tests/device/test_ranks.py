"""labkit.ranks: functions of a notebook in several processes, clocks that meet in collectives, and what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

import labkit  # noqa: E402
from labkit import chips, device  # noqa: E402
from labkit.device import ranks, rates  # noqa: E402
from labkit.device.parcel import packed, unpacked  # noqa: E402

pytestmark = [simulated, pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")]
dist = torch.distributed
MB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    yield
    ranks.stop()


def notebook(text: str) -> dict:
    """The names of a notebook's cell: functions that no other process can import."""
    names = {"__name__": "__main__", "torch": torch, "dist": dist, "device": device, "MB": MB}
    exec(compile(text, "cell 1", "exec", dont_inherit=True), names)  # annotations as they are, not as this file's
    return names


# ---- parcels


def test_functions_classes_and_closures_travel_by_their_code():
    cell = notebook("""
class Base:
    def __init__(self, a): self.a = a
    @property
    def twice(self): return factor() * self.a
class Child(Base):
    def __init__(self, a): super().__init__(a + 1)
def factor(): return 2
def outer(k):
    def inner(n): return n if n < 1 else k + inner(n - 1)
    return inner
def use(n, *, child=Child(4)): return outer(10)(n), child.twice, isinstance(child, Base), MB
""")
    assert unpacked(packed(cell["use"]))(3) == (30, 10, True, MB)
    assert (
        unpacked(packed(time.perf_counter)) is time.perf_counter
        and unpacked(packed(torch.nn.Linear)) is torch.nn.Linear
    )


def test_functions_of_a_parcel_share_their_globals_and_what_they_enclose():
    cell = notebook("""
calls, data = 0, (i for i in range(3))
class Box: data = 4
def count():
    global calls
    calls += 1
def counter():
    n = 0
    def more():
        nonlocal n
        n += 1
    return more, lambda: n
more, so_far = counter()
def early():
    def use(): return 1 if Box else later
    return use
    later = 2
use_early = early()
def use(): return [f() for f in (count, count, more, so_far)], calls, use_early(), Box().data
""")
    assert unpacked(packed(cell["use"]))() == ([None, None, None, 1], 2, 1, 4)


def test_classes_that_are_more_than_their_body_travel_too():
    cell = notebook("""
import abc, dataclasses, enum, functools
@dataclasses.dataclass
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)
class Slots:
    __slots__ = ("n",)
    def __init__(self, n): self.n = n
class Kind(enum.Enum):
    ONE, UNO, TWO = (1, "a"), (1, "a"), (2, "b")
    def __init__(self, number, letter): self.letter = letter
class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): return 1
class Child(Base):
    @torch.no_grad()
    def f(self): return super().f() + 1
    @functools.cached_property
    def half(self): return 0.5
@functools.cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
kept = Kind.TWO
def use():
    names = [f.name for f in dataclasses.fields(Point)]
    assert kept is Kind.TWO and kept.letter == "b" and Kind.UNO is Kind.ONE and list(Kind) == [Kind.ONE, Kind.TWO]
    return names, dataclasses.asdict(Point(1)), Slots(3).n, Child().f(), Child().half, fib(30)
""")
    assert unpacked(packed(cell["use"]))() == (["x", "y"], {"x": 1, "y": []}, 3, 2, 0.5, 832040)


def test_classes_made_by_more_than_names_and_bases_travel_too():
    cell = notebook("""
import enum, typing
T, Meters = typing.TypeVar("T", bound=int), typing.NewType("Meters", int)
class Gain(enum.Enum):
    LOW, HIGH = 1, 2
    def __init__(self, n): self._gain = 10 * n
class Box(typing.Generic[T]): pass
class Base:
    def __init_subclass__(cls, *, width, **more): cls.width = width
class Wide(Base, width=3): pass
class Held(Box[int], Wide, width=4): pass
def f(x: int, y: typing.Optional["Held"], z: Box[T], w: list[Meters]) -> str: pass
def use():
    names = [Gain.HIGH._gain, Gain(1).name, Wide.width, Held.width, Box[int]().__class__ is Box, *f.__annotations__]
    return names, f.__annotations__["z"] == Box[T], T.__bound__, typing.get_type_hints(f)["y"] == Held | None
""")
    want = [20, "LOW", 3, 4, True, "x", "y", "z", "w", "return"]
    assert unpacked(packed(cell["use"]))() == (want, True, int, True)


def test_tensors_keep_their_device_or_are_unloaded():
    x = torch.arange(3.0).npu().requires_grad_()
    back = unpacked(packed({"x": x, "w": torch.nn.Parameter(x.detach())}))
    assert (
        back["x"].device.type == "npu"
        and back["x"].requires_grad
        and isinstance(back["w"], torch.nn.Parameter)
        and back["w"].tolist() == [0, 1, 2]
    )
    assert unpacked(packed(x * 2, unload=True)).device.type == "cpu"
    layer = unpacked(packed(torch.nn.Linear(2, 2).npu(), unload=True))
    assert isinstance(layer.weight, torch.nn.Parameter) and layer.weight.requires_grad and not layer.weight.is_npu
    from torch.distributed import _functional_collectives as functional_collectives

    waited = functional_collectives.AsyncCollectiveTensor(torch.ones(2))
    assert type(unpacked(packed(waited))) is torch.Tensor
    assert unpacked(packed(torch.ones(1, dtype=torch.complex64, requires_grad=True) * 1)).requires_grad


# ---- calls


def test_each_rank_has_its_place_seed_and_a_fresh_clock(capsys):
    cell = notebook("""
def work(rank, x):
    print("here", rank)
    assert device.clock().launches == 0
    return rank, dist.get_world_size(), torch.randn(1).item(), x + rank
""")
    x = torch.ones(2).npu()
    run = labkit.ranks(2, cell["work"], x)
    assert [r[:2] for r in run] == [(0, 2), (1, 2)] and run[0][2] == run[1][2] and run[1][3].tolist() == [2, 2]
    assert capsys.readouterr().out == "[rank 0] here 0\n[rank 1] here 1\n"
    began = time.perf_counter()
    labkit.ranks(2, cell["work"], x)
    assert time.perf_counter() - began < 1.5, "the processes are still there"


def test_a_collective_begins_with_its_last_rank_and_ends_on_all_at_once():
    cell = notebook("""
def late(rank):
    x = torch.full((MB,), rank + 1.0, device="npu")
    if rank == 1:
        device.host_work(300)
    dist.all_reduce(x)
    return x[0].item()
""")
    run = labkit.ranks(2, cell["late"])
    assert run.results == [3, 3]
    one, two = ([s for s in spans if s.name == "c10d::allreduce_"][0] for spans in run.timelines.values())
    assert one.start_us == two.start_us > 300 and one.end_us == two.end_us and one.engine == "link"
    assert one.host_us < 30, "rank 0 has asked for it long before"
    r = rates.rates("910B1")
    assert one.end_us - one.start_us == pytest.approx((r["peer_latency"] + 4 * MB / r["peer"]) / 1e3)


def test_what_each_collective_costs():
    cell = notebook("""
def each(rank):
    x, parts = torch.ones(2 * MB, device="npu"), [torch.empty(MB, device="npu") for _ in range(2)]
    half = torch.ones(MB, device="npu")
    dist.all_gather(parts, half)
    dist.reduce_scatter_tensor(half, x)
    dist.broadcast(x, 0)
    dist.all_to_all_single(torch.empty_like(x), x)
    dist.send(half, 1) if rank == 0 else dist.recv(half, 0)
""")
    run = labkit.ranks(2, cell["each"])
    r = rates.rates("910B1")
    part, whole = 4 * MB / r["peer"] / 1e3, 8 * MB / r["peer"] / 1e3
    wanted = {
        "c10d::allgather_": part,
        "c10d::_reduce_scatter_base_": part,
        "c10d::broadcast_": whole,
        "c10d::alltoall_base_": part,
    }
    for spans in run.timelines.values():
        took = {s.name: s.end_us - s.start_us for s in spans if s.engine == "link"}
        for name, us in wanted.items():
            assert took[name] == pytest.approx(us + r["peer_latency"] / 1e3), name


@pytest.mark.parametrize("megabytes", [8, 64, 256])
def test_the_model_is_near_the_published_fit_for_eight_ranks(megabytes):
    """MC2 guide: t(us) = 13.5849 x + 61.508 from 8 MB on; the same formula as csrc/ranks.h."""
    r = rates.rates("910B1")
    modelled = (r["peer_latency"] + 2 * megabytes * 1e6 / 8 / r["peer"]) / 1e3
    assert modelled == pytest.approx(13.5849 * megabytes + 61.508, rel=0.3)


def test_a_result_that_is_still_on_its_way_is_waited_for():
    cell = notebook("""
import torch.distributed._functional_collectives as functional
def sums(rank):
    return [functional.all_reduce(torch.full((MB,), rank + 1.0, device="npu"), "sum", dist.group.WORLD) for _ in range(4)]
""")
    for rank in labkit.ranks(2, cell["sums"]):
        assert all(t.min() == t.max() == 3 and t.device.type == "cpu" for t in rank)


# ---- what goes wrong


def test_an_exception_names_rank_and_line_and_the_ranks_go_on():
    cell = notebook(
        "def wrong(rank):\n    return torch.ones(2, device='npu') @ torch.ones(3, device='npu')\ndef "
        "right(rank):\n    return os_pid()\nfrom os import getpid as os_pid\n"
    )
    before = labkit.ranks(2, cell["right"]).results
    with pytest.raises(labkit.RankError, match=r"Rank \d stopped at cell 1:2 with RuntimeError") as caught:
        labkit.ranks(2, cell["wrong"])
    assert caught.value.frames[-1][0] == "cell 1" and labkit.ranks(2, cell["right"]).results == before


def test_a_rank_that_waits_for_ever_and_one_that_dies():
    cell = notebook("""
import os
def waits(rank):
    if rank == 0:
        dist.barrier()
def dies(rank):
    if rank == 1:
        os._exit(5)
    dist.barrier()
""")
    with pytest.raises(labkit.RankError, match="same collectives in the same order") as late:
        labkit.ranks(2, cell["waits"], timeout=1.5)
    assert "Rank 0 is at cell 1:5" in str(late.value)
    with pytest.raises(labkit.RankError, match="status 5"):
        labkit.ranks(2, cell["dies"], timeout=20)
    with pytest.raises(ValueError, match="1 to 16"):
        labkit.ranks(0, cell["dies"])


def test_a_rank_that_ends_the_program_and_one_whose_result_cannot_be_sent(capsys):
    cell = notebook("""
import sys
def ends(rank):
    print("rows", rank)
    if rank == 1:
        sys.exit("no data")
def steps(rank):
    return (i for i in range(3))
""")
    with pytest.raises(labkit.RankError, match="Rank 1 stopped at cell 1:6 with SystemExit: no data") as ended:
        labkit.ranks(2, cell["ends"], timeout=20)
    assert ended.value.output == "rows 1\n" and "[rank 1] rows 1" in capsys.readouterr().out
    with pytest.raises(labkit.RankError, match="its result, a generator, cannot be sent"):
        labkit.ranks(2, cell["steps"], timeout=20)


def test_a_busy_machine_is_no_time_out_and_a_loop_is(monkeypatch):
    cell = notebook("import time\ndef sleeps(rank):\n    time.sleep(1)\ndef loops(rank):\n    while rank: pass\n")
    with pytest.raises(labkit.RankError, match="no answer within 0.3 s"):
        labkit.ranks(2, cell["sleeps"], timeout=0.3)
    with monkeypatch.context() as slow:  # as of a rank that waits for a processor
        slow.setattr("labkit.device.ranks.wants_processor", lambda pid: True)
        assert len(labkit.ranks(2, cell["sleeps"], timeout=0.3)) == 2
    monkeypatch.setenv("LABKIT_RANKS_S", "0.5")  # a grader's, whatever a golden allows
    with pytest.raises(labkit.RankError, match="Rank 1 stopped at cell 1:5"):
        labkit.ranks(2, cell["loops"])


def test_what_a_rank_has_started_ends_with_it():
    cell = notebook("""import subprocess
def starts(rank):
    return subprocess.Popen(["sleep", "60"]).pid
def raises(rank):
    if rank:
        raise ValueError("here")
    dist.barrier()
""")
    started = labkit.ranks(2, cell["starts"]).results
    with pytest.raises(labkit.RankError, match="here"):
        labkit.ranks(2, cell["raises"])
    until = time.monotonic() + 10
    while (left := [p for p in started if _alive(p)]) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, 9)
    assert not left


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ranks_end_with_their_parent(tmp_path):
    """A notebook's kernel that is killed leaves neither processes nor files."""
    text = "import labkit, os\ndef f(rank):\n    return os.getpid()\nprint(*labkit.ranks(1, f).results, flush=True)\nos.kill(os.getpid(), 9)\n"
    run = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    stat, until = Path(f"/proc/{run.stdout.split()[-1]}/stat"), time.monotonic() + 30

    def runs() -> bool:  # a test that took orphans in may have left this process to do so, and it waits for none
        try:
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    while time.monotonic() < until and (runs() or list(tmp_path.glob("labkit-ranks-*"))):
        time.sleep(0.1)
    assert not runs() and not list(tmp_path.glob("labkit-ranks-*"))


# ---- collectives on the stream of their group

OVERLAPS = """
def overlaps(rank):
    a, g = torch.ones(8 * MB, device="npu").half(), torch.ones(MB, device="npu").half()

    def span(function):
        dist.barrier(), torch.npu.synchronize()
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record(), function(), end.record()
        torch.npu.synchronize()
        return 1000 * begin.elapsed_time(end)

    def compute():
        for _ in range(16):
            a * 0.5

    def at_once(): dist.all_reduce(g), compute()
    def beside():
        work = dist.all_reduce(g, async_op=True)
        compute(), work.wait(), g.mul_(0.5)
    def waits_first(): dist.all_reduce(g, async_op=True).wait(), compute()
    def uses_it():  # without wait(): on hardware that would be a race, here the stream waits
        dist.all_reduce(g, async_op=True), g.mul_(0.5), compute()
    def gathers():
        out = torch.empty(2, MB, device="npu").half()
        work = dist.all_gather_into_tensor(out.view(-1), g, async_op=True)
        compute(), work.wait()
    found = {f.__name__: span(f) for f in (compute, at_once, beside, waits_first, uses_it, gathers)}
    with torch.npu.stream(torch.npu.Stream()):
        found["uses_it on a stream"] = span(uses_it)

    wide = [torch.nn.Linear(512, 512) for _ in range(4)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*wide).npu(), bucket_cap_mb=1)
    x = torch.ones(1024, 512, device="npu")
    for _ in range(2):
        device.reset_clock()
        model(x).sum().backward()
        torch.npu.synchronize()
    spans = device.timeline()
    links = [s for s in spans if s.name.startswith("c10d::allreduce")]
    hidden = [s for s in links for k in spans if k.engine == "cube" and k.start_us < s.end_us and s.start_us < k.end_us]
    streams = {s.stream for s in links}, {s.stream for s in spans if s.engine == "cube"}
    return found, len(links), len({s.start_us for s in hidden}), streams
"""


def test_an_asynchronous_collective_hides_behind_work():
    """As with HCCL: the group has a stream of its own; who waits, waits for the whole of it."""
    for found, links, hidden, (sums, products) in labkit.ranks(2, notebook(OVERLAPS)["overlaps"]):
        alone, link = found["compute"], found["at_once"] - found["compute"]
        assert link > 100 and alone > 100
        assert found["beside"] < alone + 0.1 * link, "hidden"
        assert found["gathers"] < alone + link
        assert found["waits_first"] == pytest.approx(found["at_once"], rel=0.01)
        assert found["uses_it"] > 0.98 * found["at_once"]
        assert found["uses_it on a stream"] > 0.98 * found["at_once"]
        assert links >= 3 and hidden >= 2, "DDP's buckets are summed while the way back goes on"
        assert sums.isdisjoint(products)


def test_an_interrupt_at_the_start_leaves_no_process(monkeypatch):
    started = []

    def interrupted(pool):
        started.append(pool)
        raise KeyboardInterrupt

    monkeypatch.setattr(ranks._Pool, "_collect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ranks._Pool(2)
    (pool,) = started
    assert len(pool.processes) == 2 and all(p.wait(30) is not None for p in pool.processes)
    assert not Path(pool.folder.name).exists()


def test_what_a_rank_writes_is_shown_also_on_standard_error_and_before_it_raises(capsys):
    cell = notebook("""
import sys
def talk(rank, fail):
    print("out of", rank)
    print("errors of", rank, file=sys.stderr)
    if fail and rank == 1: raise KeyError("gone")
""")
    run = labkit.ranks(2, cell["talk"], False)
    said = capsys.readouterr()
    assert said.out == "[rank 0] out of 0\n[rank 1] out of 1\n"
    assert said.err == "[rank 0] errors of 0\n[rank 1] errors of 1\n"
    assert run.errors == ["errors of 0\n", "errors of 1\n"]
    with pytest.raises(ranks.RankError, match="KeyError"):
        labkit.ranks(2, cell["talk"], True)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("[rank 1] out of 1\n", "[rank 1] errors of 1\n")


def test_a_call_costs_the_same_however_often_it_was_made_and_says_nothing_of_torchs_own():
    """The L2 is empty at first, also where a call before had its tensors and its kernels in the same places."""
    cell = notebook("""
import torch, labkit
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        torch.distributed.all_reduce(x)
        return x
def product(rank):
    labkit.operator("swiglu").missing("swiglu")
    x = torch.ones(1024, 1024, dtype=torch.half).npu()
    y = Sum.apply(x @ x)
    z = torch.ones(4, 2816, dtype=torch.half).npu()
    torch.ops.lab.swiglu(z, z)
""")
    labkit.operator("swiglu").missing("swiglu")
    first, again = (labkit.ranks(2, cell["product"]) for _ in range(2))
    assert first.timelines == again.timelines and first.us[0] > 10
    assert first.errors == again.errors == ["", ""]


def test_a_call_begins_with_the_parents_chip_and_words_and_without_what_another_has_set(monkeypatch):
    def spoilt(rank):
        import labkit.device as device

        device.noise(3, jitter=0.2)
        device.cold_l2()
        torch.npu.set_stream(torch.npu.Stream())

    def told(rank):
        import os

        import labkit.device as device

        x, times = torch.ones(1 << 16).npu(), []
        for _ in range(3):
            torch.add(x, 1, out=x)
            times.append(device.timeline()[-1].end_us - device.timeline()[-1].start_us)
        default = torch.npu.current_stream() == torch.npu.default_stream()
        return device.chip(), os.environ.get("LABKIT_LANG"), default, times[1] == times[2]

    labkit.ranks(2, spoilt)
    try:
        device.install("910B4")
        monkeypatch.setenv("LABKIT_LANG", "zh")
        assert labkit.ranks(2, told).results == [("910B4", "zh", True, True)] * 2
    finally:
        device.install(chips.DEFAULT)
    monkeypatch.delenv("LABKIT_LANG")
    assert labkit.ranks(2, told).results == [(chips.DEFAULT, None, True, True)] * 2
