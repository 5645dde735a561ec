"""Damage to an entry of the cache is found by its class, not by the name of a file, and the entry is made again."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.build import cache


def make(work: Path) -> None:
    (work / "sub").mkdir()
    (work / "result").write_bytes(b"result " * 100)
    (work / "sub" / "beside.h").write_bytes(b"beside " * 100)


def kept() -> Path:
    return cache.keep("thing", "1", "result", make).parent


def sound(entry: Path) -> bool:
    files = entry / "result", entry / "sub" / "beside.h"
    return [f.read_bytes() for f in files] == [b"result " * 100, b"beside " * 100]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "build"


def swapped(path: Path, put) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    put(path)


FILE_DAMAGE = {
    "cut": lambda p: p.write_bytes(p.read_bytes()[:300]),
    "zeros": lambda p: p.write_bytes(bytes(700)),
    "garbage": lambda p: p.write_bytes(b"garbage" * 100),
    "empty": lambda p: p.write_bytes(b""),
    "gone": lambda p: p.unlink(),
    "folder": lambda p: swapped(p, Path.mkdir),
    "link to nothing": lambda p: swapped(p, lambda q: q.symlink_to("/nothing")),
}
ENTRY_DAMAGE = {
    "file": lambda e: swapped(e, lambda p: p.write_text("x")),
    "link to nothing": lambda e: swapped(e, lambda p: p.symlink_to("/nothing")),
    "empty": lambda e: swapped(e, Path.mkdir),
    "cut seal": lambda e: (e / cache._SEAL).write_text('{"result": [1'),
    "lock is a folder": lambda e: swapped(Path(f"{e}.lock"), Path.mkdir) or shutil.rmtree(e),
}


@pytest.mark.parametrize("file", ["result", "sub/beside.h"])
@pytest.mark.parametrize("kind", FILE_DAMAGE)
def test_a_damaged_file_is_made_again(kind, file):
    entry = kept()
    FILE_DAMAGE[kind](entry / file)
    assert not sound_or_error(entry)
    assert cache.find("thing", "1", "result") is None
    assert sound(kept())


@pytest.mark.parametrize("kind", ENTRY_DAMAGE)
def test_a_damaged_entry_is_made_again(kind):
    ENTRY_DAMAGE[kind](kept())
    assert cache.find("thing", "1", "result") is None
    assert sound(kept())


def sound_or_error(entry: Path) -> bool:
    try:
        return sound(entry)
    except OSError:
        return False


def test_a_copy_with_other_times_is_not_made_again():
    entry = kept()
    os.utime(entry / "result", (1, 1))
    assert cache.keep("thing", "1", "result", lambda _: pytest.fail("made again")) == entry / "result"


def test_a_file_for_the_folder_is_said(home):
    home.parent.mkdir()
    home.write_text("x")
    with pytest.raises(OSError, match="a file stands where that folder must be.*LABKIT_CACHE"):
        kept()


@pytest.mark.parametrize("number, says", [(errno.ENOSPC, "disk is full"), (errno.EROFS, "cannot be written")])
def test_a_disk_that_takes_nothing_is_said(home, monkeypatch, number, says):
    def refuse(**_):
        raise OSError(number, os.strerror(number), str(home))

    monkeypatch.setattr(cache.tempfile, "mkdtemp", refuse)
    with pytest.raises(OSError, match=f"{says}.*LABKIT_CACHE") as told:
        kept()
    assert told.value.errno == number


@pytest.mark.parametrize(
    "words, error, says",
    [
        ("os.environ['PATH'] = '/nonexistent'", "ToolError", "compiler"),
        ("open('cache', 'w').close()", "ToolError", "is a file: move it"),
        ("os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')", "FileNotFoundError", "folder has been deleted"),
    ],
)
def test_npu_says_why_there_is_no_device(tmp_path, words, error, says):
    code = f"import os; {words}; import labkit, torch; torch.arange(4).npu()"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    last = ran.stderr.strip().splitlines()[-1]
    assert ran.returncode == 1 and error in last.split(":")[0] and says in ran.stderr


def test_an_entry_that_is_another_caches_is_known_by_its_own_place(home, tmp_path, monkeypatch):
    """A grading worker takes the lab's built things over by links; its keys must be the same as theirs."""
    there = kept()
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "second"))
    (tmp_path / "second" / "build").mkdir(parents=True)
    (tmp_path / "second" / "build" / there.name).symlink_to(there)
    assert kept() == there


def aged(entry: Path) -> Path:
    """As if a process that has ended had made it long ago."""
    os.utime(entry, (0, 0))
    if held := cache._uses.pop(entry.parent, None):
        held.close()
    cache._noted.clear()
    return entry


USES = """
import os, sys, time
from labkit.build import cache
cache.keep("thing", "1", "result", lambda work: (work / "result").write_text("x"))
if sys.argv[1] == "forks" and os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["uses", "forks"])
def test_prune_leaves_what_a_process_uses_that_began_days_ago(home, how):
    """Its kernels' libraries are read again when its runner has to be started anew."""
    process = subprocess.Popen([sys.executable, "-c", USES, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    (entry,) = home.glob("thing-1")
    os.utime(entry, (0, 0))
    assert cache.prune(0) == 0 and entry.exists()
    process.stdin.close()
    process.stdout.read()
    process.wait()
    freed, end = 0, time.monotonic() + 60  # the forked child is nobody's here to wait for
    while not (freed := cache.prune(0)) and time.monotonic() < end:
        time.sleep(0.01)
    assert freed > 0 and not entry.exists()
    for left in home.glob(f"{cache._IN_USE}*"):  # of one that ended without a word
        os.utime(left, (0, 0))
    cache.prune(0)
    assert not list(home.glob(f"{cache._IN_USE}*"))


def test_an_entry_is_noted_once_and_a_cache_without_locks_is_used(home, monkeypatch):
    for _ in range(3):
        kept()
    (names,) = (file.read_text() for file in home.glob(f"{cache._IN_USE}*"))
    assert names == "thing-1\n"

    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    aged(kept())
    monkeypatch.setattr(cache.fcntl, "flock", no_locks)
    assert sound(kept()) and cache.prune(1 << 40) == 0


def test_prune_leaves_the_links_to_another_caches_entries(home, tmp_path, monkeypatch):
    there = aged(kept())
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "second"))
    link = tmp_path / "second" / "build" / there.name
    link.parent.mkdir(parents=True)
    link.symlink_to(there)
    assert cache.prune(0) == 0, "nothing of this cache was freed"
    assert sound(link) and sound(there)


def test_prune_gets_past_a_lock_that_is_a_folder(home):
    entry = aged(kept())
    Path(f"{entry}.lock").unlink()
    Path(f"{entry}.lock").mkdir()
    assert cache.prune(0) > 0 and not entry.exists() and not Path(f"{entry}.lock").exists()
