"""What READMEs and help give as an example works as written: names of labkit after a plain import, symptoms."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cli import machine
from labkit.environment import troubleshooting

ROOT = Path(__file__).resolve().parents[1]
READMES = [*ROOT.glob("*.md"), *ROOT.glob("labkit/*/README.md")]
NAME = re.compile(r"(?<!-m )\blabkit((?:\.[A-Za-z_]\w*){2,})")

# Each name in a child of its own, forked behind `import labkit`: a room that another one imports would hide its lack.
RESOLVE = """
import os, sys, traceback
import labkit
wrong = []
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            found = labkit
            for part in name.split("."):
                found = getattr(found, part)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        wrong.append(name)
print(*wrong)
"""


def named() -> list[str]:
    found = set()
    for file in READMES:
        for text in NAME.findall(file.read_text(encoding="utf-8")):
            found.add(text.lstrip("."))
    return sorted(n for n in found if not n.endswith((".py", ".toml", ".md", ".html")))


def resolved(names: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", RESOLVE, *names], capture_output=True, text=True, cwd=ROOT)


def test_every_name_of_the_readmes_is_there_after_a_plain_import():
    names = named()
    assert len(names) > 10 and "bench.measure" in names
    done = resolved([*names, "triton.install", "migrate.probing"])
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr[-3000:]


def test_a_name_that_is_nowhere_is_told():
    assert resolved(["nosuch.name"]).stdout.strip() == "nosuch.name"


def symptoms() -> list[str]:
    found = [w for f in READMES for w in re.findall(r"--symptom[ =][\"']([^\"']+)[\"']", f.read_text(encoding="utf-8"))]
    help_text = re.search(r"for a symptom, e\.g\. (.+?)\.\"", Path(machine.__file__).read_text(encoding="utf-8"))[1]
    return sorted({*found, *(word.strip(" '") for word in help_text.split(","))})


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_symptom_given_as_an_example_is_found(lang):
    assert "times jump" in symptoms() and "507015" in symptoms()
    lacking = [text for text in symptoms() if not troubleshooting.look_up(text, lang)]
    assert not lacking


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_an_entry_says_of_itself_finds_it(lang):
    lacking = [one.id for one in troubleshooting.troubles(lang) if one not in troubleshooting.look_up(one.what, lang)]
    assert not lacking


def test_the_readme_installs_the_torch_that_the_wheel_is_made_with():
    tested = re.search(r'^tested-torch = "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)[1]
    assert f"pip install torch=={tested} --index-url" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_readmes_and_make_lab_say_how_labkit_gets_into_a_terminal():
    for name in ("README.md", "README.zh.md"):
        assert "source .venv/bin/activate" in (ROOT / name).read_text(encoding="utf-8")
    assert 'say("activate"' in (ROOT / "scripts" / "bootstrap.py").read_text(encoding="utf-8")


def test_exercises_in_commands_of_the_readmes_are_there():
    from labkit.exercises.spec import folders

    command = re.compile(r"(?:notebook\.verify|test_workbook\.py -k) ([a-z]\w+)")
    named_ones = {n for f in READMES for n in command.findall(f.read_text(encoding="utf-8"))}
    assert named_ones and not named_ones - set(folders())
