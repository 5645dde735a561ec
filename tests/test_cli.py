"""The program `labkit`: quick to start, right in its exit codes, and thin."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

import labkit
from labkit import cli, messages
from labkit.environment.report import Check, Report

runner = CliRunner()


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "labkit", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, **(env or {})},
    )


def test_help_loads_nothing_heavy():
    text = textwrap.dedent("""
        import sys
        from labkit import cli
        try:
            cli.app(["--help"])
        except SystemExit as stop:
            assert not stop.code
        heavy = {"torch", "numpy", "IPython", "nbformat", "papermill", "rich.console", "labkit.launch.kernel", "labkit.device.build"}
        print(sorted(heavy & set(sys.modules)))
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("[]"), done.stdout


def test_help_names_every_command():
    shown = runner.invoke(cli.app, ["--help"]).output
    for command in (
        "doctor",
        "prebuild",
        "clean",
        "lang",
        "kernels",
        "stub",
        "check",
        "hint",
        "progress",
        "build",
        "run-notebooks",
        "bench",
    ):
        assert command in shown


@pytest.mark.parametrize("state, code", [("PASS", 0), ("WARN", 0), ("SKIP", 0), ("FAIL", 1)])
def test_doctor_fails_only_on_fail(monkeypatch, state, code):
    report = Report((Check("make", state, "so it is [bold]", ("do this",)),), "twin")
    monkeypatch.setattr(sys.modules["labkit.environment"], "doctor", lambda: report)
    shown = runner.invoke(cli.app, ["doctor"])
    assert shown.exit_code == code
    assert state in shown.output and "so it is [bold]" in shown.output and "do this" in shown.output
    as_json = runner.invoke(cli.app, ["doctor", "--json"])
    assert as_json.exit_code == code and json.loads(as_json.output)["checks"][0]["state"] == state


def test_doctor_in_chinese_where_the_terminal_is_not():
    done = run("doctor", env={"LABKIT_LANG": "zh", "LC_ALL": "C", "PYTHONUTF8": "0"})
    assert "处理器核" in done.stdout and "Traceback" not in done.stderr, done.stderr


def test_lang():
    assert runner.invoke(cli.app, ["lang"]).output.strip() == "en"
    assert runner.invoke(cli.app, ["lang", "zh"]).output.strip() == "export LABKIT_LANG=zh"
    assert runner.invoke(cli.app, ["lang", "fr"]).exit_code == 2


def test_kernels_lists_sources_and_exercises(monkeypatch, tmp_path):
    for name in ("add/add.asc", "add/exercises/copy_tail/spec.toml", ".hidden/x.asc", "empty/readme.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr("labkit.paths.kernels_dir", lambda: tmp_path)
    assert runner.invoke(cli.app, ["kernels"]).output.split() == ["add", "add/add.asc", "exercises:", "copy_tail"]


@pytest.mark.parametrize("state, code", [("PASS", 0), ("SKIP", 0), ("TODO", 1), ("FAIL", 1)])
def test_check_hands_the_region_on(monkeypatch, tmp_path, state, code):
    seen = []

    class Result:
        def __str__(self):
            return f"{state} copy_tail"

    def check(*arguments, **options):
        seen.append((arguments, options))
        result = Result()
        result.state = state
        return result

    monkeypatch.setattr(labkit, "check", check, raising=False)
    file = tmp_path / "mine.asc"
    file.write_text("%%exercise copy_tail\nint n = 1;\n")
    shown = runner.invoke(cli.app, ["check", "copy_tail", str(file)])
    assert shown.exit_code == code and f"{state} copy_tail" in shown.output
    assert seen == [(("copy_tail", "int n = 1;\n"), {"first_line": 2})]


def test_check_wants_a_file_that_exists(tmp_path):
    assert runner.invoke(cli.app, ["check", "copy_tail", str(tmp_path / "none.asc")]).exit_code == 2


def test_an_unknown_exercise_is_one_line():
    done = run("hint", "no_such_exercise")
    assert done.returncode == 1 and "no_such_exercise" in done.stderr and "Traceback" not in done.stderr


def test_a_missing_package_is_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    done = run(
        "prebuild", env={"PYTHONPATH": str(tmp_path), "LABKIT_CACHE": str(tmp_path), "CXX": str(tmp_path / "none")}
    )
    assert done.returncode == 1 and done.stderr.startswith("labkit: ") and "Traceback" not in done.stderr


def test_a_mistake_of_our_own_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(cli, "app", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_build_and_run_hand_on_what_they_are_given(monkeypatch):
    seen = []
    room = types.ModuleType("labkit.notebook")
    room.build = types.SimpleNamespace(main=lambda *a, **k: seen.append((a, k)) or 3)
    room.run = types.SimpleNamespace(main=lambda *a: seen.append(a) or 4)
    room.gate = types.SimpleNamespace(main=lambda *a: seen.append(a) or 5)
    monkeypatch.setitem(sys.modules, "labkit.notebook", room)
    assert runner.invoke(cli.app, ["build", "00.01", "--stamp"]).exit_code == 3
    assert runner.invoke(cli.app, ["build", "00.01", "--check"]).exit_code == 5
    assert runner.invoke(cli.app, ["run-notebooks", "--stage", "00", "00.01"]).exit_code == 4
    assert seen == [
        ((["00.01"],), {"stamp": True, "execute": True, "langs": ("en", "zh")}),
        (["00.01"],),
        (["--stage", "00", "00.01"],),
    ]


def test_clean_removes_what_was_built_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    (tmp_path / "build" / "add-1").mkdir(parents=True)
    (tmp_path / "build" / "add-1" / "add.so").write_bytes(b"x" * (3 << 20))
    (tmp_path / "progress.jsonl").write_text("{}\n")
    assert runner.invoke(cli.app, ["clean"]).output.startswith("3 MB freed")
    assert [p.name for p in tmp_path.iterdir()] == ["progress.jsonl"]


def test_what_was_built_is_said_in_the_readers_language(monkeypatch):
    from labkit.environment import housekeeping

    monkeypatch.setenv("LABKIT_LANG", "zh")
    monkeypatch.setattr(housekeeping, "prebuild", lambda: iter([("twin", 1.0), ("device", 2.0), ("headers", 3.0)]))
    said = runner.invoke(cli.app, ["prebuild"]).output
    assert said.count("就绪") == 3 and "ready" not in said


def test_counts_of_one_and_of_more():
    for key in ("camp.collected", "camp.report-summary", "camp.summary", "trace.report.sums", "lies.found"):
        names = re.findall(r"{(\w+)[:}]", messages.tables()[key]["en"])
        one = messages.text(key, lang="en", **dict.fromkeys(names, 1))
        many = messages.text(key, lang="en", **dict.fromkeys(names, 2))
        assert not re.search(r"\b1 (?!us\b)\w+s\b", one) and re.search(r"\b2 \w+s\b", many) and "(s)" not in one + many


def test_no_message_leaves_the_number_to_the_reader():
    """An (s) behind a word leaves it: `{n} file{n:?s}` says it."""
    left = [k for k, v in messages.tables().items() if re.search(r"\w\(e?s\)", str(v.get("en")))]
    assert not left and "0 errors, 1 warning" in messages.text("program.summary", lang="en", errors=0, warnings=1)


def test_a_note_of_what_takes_long_is_no_error_in_a_notebook(capsys, monkeypatch):
    messages.note("building")
    assert capsys.readouterr() == ("", "building\n")
    kind = type(
        "OutStream", (), {"__module__": "ipykernel.iostream", "write": lambda *_: 1 / 0, "flush": lambda _: None}
    )
    monkeypatch.setattr(sys, "stderr", kind())
    messages.note("building")
    assert capsys.readouterr().out == "building\n"


def test_messages_are_found_from_any_folder(tmp_path):
    done = subprocess.run([sys.executable, "-m", "labkit", "kernels"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert messages.has("doctor.python") and Path(labkit.__file__).is_file()


def test_confined_says_the_level_and_why_it_is_no_better(monkeypatch):
    from labkit.camp import confine

    lacking = confine.Offers("landlock", landlock=3, missing=("no bwrap in PATH", "user namespaces are switched off"))
    monkeypatch.setattr(confine, "offers", lambda: lacking)
    shown = runner.invoke(cli.app, ["confined"])
    assert shown.exit_code == 0 and shown.output.splitlines() == [
        "landlock, Landlock 3, no seccomp, processes limited by the watch",
        *lacking.missing,
    ]


def test_cmake_dir_is_what_a_shell_sources():
    found = run("cmake-dir")
    assert found.returncode == 0 and found.stderr == ""
    home = subprocess.run(
        ["bash", "-c", f'source "{found.stdout.strip()}/set_env.sh" && echo "$ASCEND_HOME_PATH"'],
        capture_output=True,
        text=True,
    )
    assert home.stdout == found.stdout, home.stderr
    assert (Path(found.stdout.strip()) / "bin" / "bisheng").exists()


@pytest.mark.parametrize(
    "command, said",
    [
        (["accuracy", "nosuch", "--json"], "no case begins with nosuch; there are add/, "),
        (["fit", "--only", "nosuch"], "no constant is called nosuch; there are "),
    ],
)
def test_unknown_names_of_the_clock_are_one_line(command, said):
    shown = runner.invoke(cli.app, ["clock", *command])
    assert shown.exit_code == 1 and said in shown.output and shown.output.count("\n") <= 1


@pytest.fixture
def log(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    return tmp_path / "progress.jsonl"


def test_next_prints_a_command_for_the_kind_that_it_names(log):
    from labkit.exercises.order import in_order
    from labkit.exercises.spec import load

    kinds, passed = set(), []
    for name in in_order()[:6]:
        shown = runner.invoke(cli.app, ["next"]).output
        kinds.add(load(name).kind == "predict")
        wanted = f"labkit predict {name}" if load(name).kind == "predict" else f"labkit watch {name} {name}."
        assert name in shown and wanted in shown
        passed.append(json.dumps({"event": "check", "id": name, "state": "PASS"}))
        log.write_text("\n".join(passed) + "\n")
    assert kinds == {True, False}


def test_a_prediction_is_answered_in_the_terminal(log):
    from labkit.exercises.question import answer
    from labkit.exercises.spec import folders, load

    by_type = {}
    for name in folders():
        if load(name).kind == "predict":
            by_type.setdefault(load(name).answer.type, name)
    assert set(by_type) == {"number", "text", "choice"}
    for name in by_type.values():
        right = answer(load(name))
        right = right[0] if isinstance(right, (list, tuple)) else right
        assert "PASS" in (shown := runner.invoke(cli.app, ["predict", name, str(right)])).output and not shown.exit_code
        following = runner.invoke(cli.app, ["next"]).output.split()[0].rstrip(":")
        assert following in shown.output, "PASS and next must name the same exercise"
        assert runner.invoke(cli.app, ["predict", name, "-7"]).exit_code == 1
    asked = runner.invoke(cli.app, ["predict", by_type["number"]])
    assert asked.exit_code == 1 and len(asked.output) > 40


def test_a_prediction_has_no_file_and_says_what_it_has(log, tmp_path):
    (tmp_path / "p.txt").write_text("1\n")
    for words in (["check", "look_result_pipe", str(tmp_path / "p.txt")], ["stub", "look_result_pipe"]):
        done = run(*words)
        assert done.returncode == 1 and "labkit predict look_result_pipe ANSWER" in done.stderr


def test_a_stub_in_a_terminal_names_commands(log, tmp_path):
    file = tmp_path / "look_repair.asc"
    file.write_text(runner.invoke(cli.app, ["stub", "look_repair"]).output)
    shown = runner.invoke(cli.app, ["check", "look_repair", str(file)]).output
    assert "labkit hint look_repair" in shown and "labkit.hint" not in shown and "cell" not in shown


def test_a_terminal_is_told_commands_and_no_calls_of_a_notebook(log, tmp_path):
    """After PASS, before it, with all hints given, and for an id that is none."""
    from labkit.exercises.spec import load
    from labkit.exercises.stub import template

    def said(*words: str) -> str:
        shown = runner.invoke(cli.app, [*words])
        assert not re.search(r"labkit\.\w+\(|\b(compare|give_up)\(", shown.output), shown.output
        return shown.output

    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(template(load("mp_clip")).solution())
    wrong.write_text("return 2.0")
    assert "labkit hint mp_clip" in said("compare", "mp_clip")
    for _ in range(3):
        said("hint", "mp_clip")
    assert "`labkit give-up mp_clip`" in said("check", "mp_clip", str(wrong))
    assert "norm * norm" in said("give-up", "mp_clip")
    assert "`labkit compare mp_clip`" in said("check", "mp_clip", str(right))
    assert "norm * norm" in said("compare", "mp_clip")
    assert (
        "`labkit progress` lists all" in (shown := run("check", "mp_clips", str(right)).stderr)
        and ".progress" not in shown
    )


@pytest.mark.parametrize(
    "words", ["bench compare a b", "bench show a", "bench check a", "run a", "check mp_clip a", "trace report a"]
)
def test_a_file_that_is_not_there_is_named_without_a_traceback(monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    done = run(*words.split())
    assert done.returncode and "Traceback" not in done.stderr and "Errno" not in done.stderr
    assert re.search(r"file a\.|a does not exist|'a' does not exist", done.stderr), done.stderr


def test_a_kernel_file_that_is_not_there_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as found:
        labkit.kernel("nosuch/add.asc")
    assert str(tmp_path) in str(found.value) and "labkit kernels" in str(found.value)
    assert found.value._render_traceback_() == [str(found.value)]


def test_no_measured_table_is_a_sentence_that_says_how_to_make_one(monkeypatch, tmp_path):
    from labkit.batch import measured

    monkeypatch.setattr(measured.paths, "repo_root", lambda: tmp_path)
    for words in ([], [str(tmp_path / "nosuch.csv")]):
        shown = runner.invoke(cli.app, ["clock", "measured", *words])
        said = f"{shown.output}{shown.exception}"
        assert shown.exit_code == 1 and "labkit batch --target npu" in said and "Errno" not in said


def test_verify_names_an_unknown_exercise_without_a_traceback():
    done = subprocess.run(
        [sys.executable, "-m", "labkit.notebook.verify", "no_such_exercise"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "no_such_exercise" in done.stderr and "Traceback" not in done.stderr


def test_a_kernel_without_main_is_named_by_a_path_that_can_be_pasted(repo, monkeypatch, tmp_path):
    monkeypatch.chdir(repo)
    assert 'labkit.kernel("kernels/add/add.asc")' in (shown := run("run", "kernels/add/add.asc")).stdout + shown.stderr
    monkeypatch.chdir(tmp_path)
    file = repo / "kernels" / "add" / "add.asc"
    assert f'labkit.kernel("{file}")' in (shown := run("run", str(file))).stdout + shown.stderr
