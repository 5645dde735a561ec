"""`%%ascendc name` and `%%exercise id`: Ascend C, and the learner's part of an exercise, as notebook cells.

The body starts on the cell's second line, and that is the line number which every message names.
"""

from __future__ import annotations

import argparse
import shlex

from labkit import messages
from labkit.book import complete
from labkit.exercises.judge import check
from labkit.launch.kernel import kernel
from labkit.program.runnable import HostProgram
from labkit.source.errors import CompileError
from labkit.source.lint import lint

_FIRST_LINE = 2


def ascendc(line: str, cell: str):
    """%%ascendc name [--blocks N] [--entry kernel] [--expect compile] [--program]:
    build the cell and bind it to `name`.

    With --blocks the name is ready to be called; without, as name[blocks](...). --expect compile shows
    the compiler's message as ordinary output, and is an error when the cell compiles. --program: the
    cell has a main(); name(...) runs it.
    """
    parser = _Parser(prog="%%ascendc", add_help=False)
    parser.add_argument("name")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--entry")
    parser.add_argument("--expect", choices=["compile"])
    parser.add_argument("--program", action="store_true")
    asked = parser.parse_args(shlex.split(line))
    if not asked.name.isidentifier():
        raise ValueError(messages.text("magics.name", name=asked.name))
    try:
        if asked.program:
            made = HostProgram(f'#line {_FIRST_LINE} "cell {asked.name}"\n{cell}', asked.name)
        else:  # the empty line stands for the magic's, so that line numbers are the cell's
            made = kernel(text="\n" * (_FIRST_LINE - 1) + cell, filename=f"cell {asked.name}", entry=asked.entry)
    except CompileError as error:
        if asked.expect != "compile":
            raise
        print("\n".join(error._render_traceback_()) if hasattr(error, "_render_traceback_") else error)
        return
    if asked.expect:
        raise AssertionError(messages.text("magics.compiled", name=asked.name))
    for p in lint(made.text, f"cell {asked.name}"):  # what the host's compiler accepts and the device's does not
        print(f"{p['file']}:{p['line']}: {p['message']}" + (f"\n  {p['hint']}" if p.get("hint") else ""))
    _bind(asked.name, made[asked.blocks] if asked.blocks else made)


def exercise(line: str, cell: str):
    """%%exercise id: check the cell as the learner's part of the exercise, and show the result."""
    words = line.split()
    if len(words) != 1:
        raise ValueError(messages.text("magics.exercise-usage", line=line.strip()))
    return check(words[0], cell.rstrip("\n"), first_line=_FIRST_LINE)


class _Parser(argparse.ArgumentParser):
    """A wrong magic line raises ValueError; argparse would end the kernel (SystemExit)."""

    def error(self, message: str):
        raise ValueError(messages.text("magics.usage", usage=self.format_usage().strip(), message=message))


def _shell():
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def _bind(name: str, value) -> None:
    shell = _shell()
    if shell is not None:
        shell.push({name: value})


def load_ipython_extension(shell) -> None:
    """`%load_ext labkit.notebook.magics`."""
    shell.register_magic_function(ascendc, "cell", "ascendc")
    shell.register_magic_function(exercise, "cell", "exercise")
    complete.register(shell)


def register() -> bool:
    """Register in the running IPython, if there is one. Cheap, and harmless when done twice."""
    shell = _shell()
    if shell is None:
        return False
    load_ipython_extension(shell)
    return True
