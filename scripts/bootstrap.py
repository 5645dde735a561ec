"""From a bare machine to a working lab: what `make lab`, `make run`, `make test` and `make build` start.

Standard library only, because it runs before anything is installed. It finds or makes the environment, installs the
extras `lab` and `test` of pyproject.toml into it once, and starts the asked-for command there. An active virtual or
conda environment is used as it is; without one, ./.venv is made. A second call only compares a stamp (pyproject.toml,
Python version, place of the checkout) and imports the packages that fail most often.

No `from __future__ import annotations` and no new syntax here:
an older Python must get as far as the sentence that says it is too old.
"""

import glob
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from bootstrap_text import text

ROOT = Path(__file__).resolve().parents[1]
MINIMUM = (3, 10)
NEWER = ("python3.13", "python3.12", "python3.11", "python3.10", "python3.14")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_TIMEOUT = 3.0  # seconds
STAMP = "labkit-stamp.json"

# Run inside the environment: fails, with the reason as last line, when something that the lab needs is not there.
# It also keeps the file in site-packages by which `import torch_npu` may be the first line of a program.
PROBE = r"""
import importlib.metadata as metadata, re, sysconfig
import numpy, typer, rich, labkit, torch
from labkit.device.import_hook import keep_pth
keep_pth(sysconfig.get_paths()["purelib"])
for requirement in metadata.requires("labkit"):
    if re.search(r"extra == .(lab|test).", requirement):
        metadata.version(re.match(r"[\w.-]+", requirement).group())
print(labkit.__file__)
"""
DISTRIBUTIONS = r"""
import importlib.metadata as metadata, json, sys
every = [(d.metadata["Name"], d.version) for d in metadata.distributions()]
found = {name.lower().replace("_", "-"): version for name, version in every if name}
print(json.dumps({"python": sys.version_info[:3], "torch": found.get("torch"), "torch-npu": found.get("torch-npu")}))
"""


class Stop(Exception):
    """Something the user must fix; the text says what and how."""


def language():
    return "zh" if os.environ.get("LABKIT_LANG", "").lower().startswith("zh") else "en"


def say(key, **numbers):
    print(text(key, language(), **numbers), flush=True)


def stop(key, **numbers):
    raise Stop(text(key, language(), **numbers))


def dotted(version):
    return ".".join(str(part) for part in version)


# --- what the machine must have ---------------------------------------------------------------------------------------


def load_system():
    """labkit/build/packages.py by its path: importing labkit itself needs a Python that is new enough."""
    spec = importlib.util.spec_from_file_location("labkit_packages", str(ROOT / "labkit" / "build" / "packages.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


system = load_system()


def check_tools():
    """Raise Stop when no C++ compiler or no make is on the PATH."""
    missing = []
    if not (os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")):
        missing.append("compiler")
    if not shutil.which("make"):
        missing.append("make")
    if missing:
        names = {"compiler": "g++ / clang++", "make": "make"}
        use = ", ".join(text("use-" + tool, language()) for tool in missing)
        stop("no-tool", tool=", ".join(names[tool] for tool in missing), use=use, mend=system.install_command(missing))


def newer_python():
    """A Python on the PATH that is new enough, or None."""
    for name in NEWER:
        found = shutil.which(name)
        if found and subprocess.call([found, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            return found
    return None


# --- the environment --------------------------------------------------------------------------------------------------


def choose_environment():
    """(folder, is it ours): the active environment, else ./.venv. A virtual environment is the inner one of two."""
    active = os.environ.get("VIRTUAL_ENV") or system.conda_prefix(os.environ)
    if active:
        return Path(active), Path(active).resolve() == ROOT / ".venv"
    return ROOT / ".venv", True


def environment_python(prefix):
    return prefix / "bin" / "python"


def run(command, **options):
    return subprocess.run([str(part) for part in command], **options)


def has_pip(python):
    return run([python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def make_environment(prefix):
    """Make the virtual environment `prefix` with the running Python. Raises Stop when this machine can not."""
    say("making", prefix=prefix, python=sys.executable)
    options = []
    if importlib.util.find_spec("torch_npu") is not None:
        say("system-site", python=sys.executable)
        options.append("--system-site-packages")
    tools = []
    if importlib.util.find_spec("ensurepip") is not None:
        tools.append([sys.executable, "-m", "venv"])
    if importlib.util.find_spec("virtualenv") is not None:
        tools.append([sys.executable, "-m", "virtualenv", "-q"])
    if shutil.which("virtualenv"):
        tools.append([shutil.which("virtualenv"), "-q", "-p", sys.executable])
    for tool in tools:
        shutil.rmtree(str(prefix), ignore_errors=True)
        if run(tool + options + [prefix]).returncode == 0 and has_pip(environment_python(prefix)):
            return
    shutil.rmtree(str(prefix), ignore_errors=True)
    stop("no-venv", python=sys.executable, mend=system.install_command(["venv"]))


def stamp_of(python_version):
    """What an installation depends on, as one hash."""
    parts = [(ROOT / "pyproject.toml").read_bytes(), dotted(python_version).encode(), str(ROOT).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def stamped(stamp):
    """What the file holds, None where there is none; a full disk leaves an empty one."""
    try:
        return json.loads(stamp.read_text())["key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def distributions(python):
    """{"python": [3, 11, 7], "torch": version or None, "torch-npu": version or None} of the environment."""
    return json.loads(run([python, "-c", DISTRIBUTIONS], stdout=subprocess.PIPE, check=True).stdout.decode())


def probe(python):
    """None when the environment works, else the last line of what went wrong."""
    environment = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    done = run([python, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd="/")
    if done.returncode:
        return (done.stderr.decode(errors="replace").strip().splitlines() or ["exit code %d" % done.returncode])[-1]
    origin = Path(done.stdout.decode().strip().splitlines()[-1]).resolve()
    return None if origin.parents[1] == ROOT else "labkit is the one of %s" % origin.parents[1]


# --- torch ------------------------------------------------------------------------------------------------------------


def torch_facts():
    """(requirement with its range, lowest (major, minor), first excluded (major, minor), tested version)."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.search(r'"(torch>=(\d+)\.(\d+),<(\d+)\.(\d+))"', project)
    tested = re.search(r'^tested-torch = "([^"]+)"', project, re.M).group(1)
    numbers = [int(n) for n in wanted.groups()[1:]]
    return wanted.group(1), tuple(numbers[:2]), tuple(numbers[2:]), tested


def answers(url, seconds=INDEX_TIMEOUT):
    """Whether `url` answers within `seconds`, name look-up included (which has no time limit of its own)."""
    import urllib.request

    seen = []

    def ask():
        try:
            with urllib.request.urlopen(url, timeout=seconds) as reply:
                seen.append(reply.status)
        except Exception:  # no network, no certificate, a proxy that refuses: all mean "not from here"
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(seen)


def torch_command(found, ours):
    """pip's arguments that bring torch, [] when the environment's own will do. Raises Stop for an unfit one of others.

    found: `distributions()` of the environment; ours: whether the environment is ./.venv.
    """
    wanted, low, high, tested = torch_facts()
    requirement = os.environ.get("LABKIT_TORCH") or "torch==" + tested
    if found["torch-npu"] and not os.environ.get("LABKIT_TORCH"):
        # of 2.6.0.post3, 2.6.0rc1, 2.1.0+git1a2b3c what torch has been released as
        requirement = "torch==" + re.match(r"\d+(\.\d+){0,2}", found["torch-npu"]).group()
    if found["torch"]:
        have = tuple(int(n) for n in re.findall(r"\d+", found["torch"])[:2])
        if low <= have < high:
            return []
        if not ours:
            stop("torch-range", have=found["torch"], range=wanted, requirement=requirement)
    index = os.environ.get("LABKIT_TORCH_INDEX") or CPU_INDEX
    if answers(index.rstrip("/") + "/torch/"):
        say("torch-cpu", requirement=requirement, index=index)
        return [requirement, "--index-url", index]
    say("torch-default", requirement=requirement, index=index)
    return [requirement]


def pip(python, *arguments):
    # --no-compile: Python compiles a module when it is first imported, and keeps that. pip would compile all 16,000
    # files, in half a minute, and most of them nobody imports.
    words = ["--disable-pip-version-check", "--no-compile"] + ([] if sys.stdout.isatty() else ["-q"])
    code = run([python, "-m", "pip", "install"] + words + list(arguments), cwd=str(ROOT)).returncode
    if code:
        stop("pip-failed", code=code)


def ensure():
    """The Python of an environment in which the lab works; installs what is missing. Raises Stop."""
    check_tools()
    prefix, ours = choose_environment()
    python = environment_python(prefix)
    if ours:
        if os.environ.get("CONDA_DEFAULT_ENV") == "base" and not os.environ.get("VIRTUAL_ENV"):
            say("conda-base")
        if not python.exists() or not has_pip(python):
            make_environment(prefix)
    else:
        say("active", prefix=prefix)
        if not python.exists():
            stop("env-gone", prefix=prefix)
    found = distributions(python)
    if tuple(found["python"]) < MINIMUM:
        stop("env-too-old", prefix=prefix, have=dotted(found["python"]), need=dotted(MINIMUM))
    stamp, key = prefix / STAMP, stamp_of(found["python"])
    if stamped(stamp) == key:
        why = probe(python)
        if why is None:
            say("ready")
            return python
        say("broken", why=why)
    install(prefix, python, found, ours)
    stamp.write_text(json.dumps({"key": key}))
    return python


def install(prefix, python, found, ours):
    if not has_pip(python):
        stop("no-pip", prefix=prefix, mend="%s -m ensurepip" % python)
    start = time.monotonic()
    say("twin")
    building = [build_ahead(sys.executable, "from labkit.build import runtime; runtime.runner()")]
    torch = torch_command(found, ours)
    if torch:
        pip(python, *torch)
    building.append(
        build_ahead(python, "from labkit.environment import housekeeping; list(housekeeping.prebuild())")
    )  # what needs PyTorch's headers
    say("packages")
    pip(python, "-e", ".[lab,test]")
    for process in building:
        if process:
            process.wait()
    why = probe(python)
    if why is not None:
        remove = "rm -rf %s, then make again" % prefix if ours else "%s -m pip check" % python
        stop("still-broken", prefix=prefix, why=why, mend=remove)
    say("installed", seconds=time.monotonic() - start)


def build_ahead(python, program):
    """Compiles what `program` asks labkit for while pip works, which keeps one core busy; a process, or None.

    Without a package yet: labkit's builds need none from Python 3.11 on (tomllib). What goes wrong here is not
    reported: the first use builds it again, and says so.
    """
    if sys.version_info < (3, 11):
        return None
    return subprocess.Popen(
        [str(python), "-c", "import os; os.nice(5); " + program],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


# --- commands ---------------------------------------------------------------------------------------------------------


def jupyter_arguments():
    # The checkout is the root, so that kernels/ and data/ can be opened beside the notebooks.
    arguments = ["--ServerApp.root_dir=%s" % ROOT, "--LabApp.default_url=/lab/tree/workbook/%s" % language()]
    arguments.append("--LabApp.extra_labextensions_path=%s" % (ROOT / "scripts" / "labextensions"))
    if os.geteuid() == 0:
        say("root")
        arguments.append("--allow-root")
    return arguments


def jupyter_environment():
    """JupyterLab itself in Chinese where the language is, by the setting's default: a person's own choice is kept."""
    path = [str(ROOT / "scripts" / "jupyter_zh"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    return {"JUPYTER_CONFIG_PATH": os.pathsep.join(p for p in path if p)} if language() == "zh" else {}


def start(python, *arguments):
    """Replace this process by `python arguments` with the environment's programs first on the PATH."""
    environment = dict(os.environ, PATH="%s%s%s" % (python.parent, os.pathsep, os.environ.get("PATH", "")))
    if not glob.glob("/dev/davinci[0-9]*"):  # so that a notebook may import torch before labkit, whatever is installed
        environment.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    environment.update(jupyter_environment())
    os.chdir(str(ROOT))
    sys.stdout.flush()
    os.execve(str(python), [str(python)] + list(arguments), environment)


def workers(arguments):
    """One pytest process for each core, unless the arguments say how many; tests of a file stay together at first."""
    told = any(re.match(r"-n|--numprocesses|--dist|--pdb|-p$", word) for word in arguments)
    return [] if told else ["-n", str(os.cpu_count() or 1), "--dist", "worksteal"]


def main(arguments):
    command, rest = (arguments[0] if arguments else "env"), arguments[1:]
    if command not in ("env", "lab", "run", "test", "check", "build", "doctor"):
        raise Stop("bootstrap.py env | lab | run | test | check | build | doctor")
    if sys.version_info < MINIMUM:
        newer = newer_python()
        if newer:
            os.execv(newer, [newer, str(Path(__file__).resolve())] + arguments)
        stop(
            "too-old",
            need=dotted(MINIMUM),
            python=sys.executable,
            have=dotted(sys.version_info[:3]),
            mend=system.install_command(["python"]),
        )
    # Images of Python often set this. pip leaves compiling to the first import (see pip()), so nothing would be kept:
    # each of the many processes of a notebook or a test run would compile torch anew, 3 of the 5 seconds that it takes.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    python = ensure()
    if command in ("lab", "test"):  # before the processes start that would each wait for it
        if run([python, "-m", "labkit", "prebuild"], cwd=str(ROOT)).returncode:
            return 1
    if command == "lab":
        workbook = ROOT / "workbook" / language()  # a copy to work in: the checkout's notebooks stay as they are
        if run([python, "-m", "labkit", "notebooks", workbook, "--lang", language()], cwd=str(ROOT)).returncode:
            return 1
        if (python.parent / "activate").exists():  # a conda environment has none, and is active where it is used
            say("activate", script=shlex.quote(str(python.parent / "activate")))
        say("lab")
        start(python, "-m", "jupyterlab", *(jupyter_arguments() + rest))
    elif command == "test":
        start(python, "-m", "pytest", "tests", *workers(rest), *rest)
    elif command == "check":
        start(python, str(ROOT / "scripts" / "check.py"), *rest)
    elif command != "env":
        start(python, "-m", "labkit", {"run": "run-notebooks", "build": "prebuild", "doctor": "doctor"}[command], *rest)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as message:
        sys.exit("\n%s" % message)
    except KeyboardInterrupt:
        sys.exit(130)
