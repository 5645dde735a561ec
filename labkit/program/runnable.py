"""A program with a main() as an object, for notebooks and exercises: built when it is made, run by calling it.

demo = HostProgram(text, "demo")      # `%%ascendc demo --program` makes one of a cell
result = demo("4096")                 # its argv[1]; a Result, which shows what it printed and what its launches took
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from labkit.build.cache import keep, key
from labkit.program import build, results, supervise

SETTINGS = supervise.Settings(timeout=20)


class HostProgram:
    """text: Ascend C with a main(); name: what the program is called. Raises CompileError, ToolError.

    A text that begins with `#line` gives its own lines, and files, to messages.
    """

    def __init__(self, text: str, name: str, settings: supervise.Settings = SETTINGS) -> None:
        self.text, self.name, self.settings = text, name, settings
        source = keep(
            name,
            key("program", text),
            f"{name}.asc",
            lambda work: (work / f"{name}.asc").write_text(text, encoding="utf-8") and None,
        )
        self.path = build.build(build.of_files([source], {}, []))

    def __call__(self, *arguments, **settings) -> results.Result:
        """Run it in an empty folder, the only one that it can write to; it has no network.
        settings: those of supervise.Settings, for this run.
        """
        used = replace(self.settings, **settings)
        with tempfile.TemporaryDirectory(prefix="labkit-program-") as folder:
            ended = supervise.run(
                [str(self.path), *map(str, arguments)],
                Path(folder),
                used,
                env={"LABKIT_TWIN_CONFINE": "1"},
                capture=True,
            )
        result = results.of(ended, used)
        names = set(re.findall(r'^#line \d+ "([^"/]+)"', self.text, re.M))
        for finding in result.findings:  # where the place is from the debug information: there a `#line` name is a path
            if Path(finding.file).name in names:
                finding.file = Path(finding.file).name
        return result

    def __repr__(self) -> str:
        return f"HostProgram {self.name}"
