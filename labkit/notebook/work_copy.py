"""`labkit notebooks DIR`: the workbook laid out in a folder of one's own, in English or Chinese, trusted by JupyterLab.

Nobody works in the checkout's own notebooks, where an autosave would look like a change of the workbook. Laid out again
after an update, a notebook that was not touched is replaced; of one that was, the new version is put beside it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from labkit import messages, paths
from labkit.notebook import source as reader
from labkit.notebook.build import load_notebook, to_text
from labkit.notebook.cells import Variant, notebook
from labkit.notebook.execute import tidy

RECORD = ".labkit-workbook.json"  # file -> hash of what was laid out last


@dataclass
class Laid:
    """What was done, by file. kept: the learner's, with nothing newer; beside: the learner's, and the newer one."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    def lines(self, folder: Path) -> list[str]:
        """In the language in force."""
        told = [messages.text("workbook.laid", count=len(self.written), folder=paths.display_path(folder))]
        if self.kept:
            told.append(messages.text("workbook.kept", count=len(self.kept)))
        told += [messages.text("workbook.beside", file=name, new=_beside(name)) for name in self.beside]
        return told


def lay_out(folder: Path, lang: str = "en", home: Path | None = None) -> Laid:
    """Write every notebook into `folder`. With the outputs of the demo cells where they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    record = _read(folder / RECORD)
    laid = Laid()
    for src in map(reader.read, reader.sources(home)):
        text = _text(src, lang, home)
        name = src.target(Path()).as_posix()
        file, new = folder / name, _hash(text)
        if not file.is_file() or _hash(file.read_text(encoding="utf-8")) in (record.get(name), new):
            _write(file, text)
            laid.written.append(name)
        elif record.get(name) == new:
            laid.kept.append(name)
        else:
            _write(folder / _beside(name), text)
            laid.beside.append(name)
        record[name] = new
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return laid


def _text(src: reader.Source, lang: str, home: Path | None) -> str:
    import nbformat

    committed = src.target(home or paths.notebooks_dir(), lang)
    if committed.is_file():
        return to_text(load_notebook(committed))
    made = notebook(src, Variant(lang=lang))
    return to_text(tidy(nbformat.from_dict(made), made["metadata"]))


def _write(file: Path, text: str) -> None:
    import nbformat
    from nbformat.sign import NotebookNotary

    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    try:  # or figures show as text until their cell has run
        NotebookNotary().sign(nbformat.reads(text, as_version=4))
    except Exception:  # no place for its database: the notebook works all the same
        pass


def _beside(name: str) -> str:
    return name.removesuffix(".ipynb") + ".new.ipynb"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(file: Path) -> dict[str, str]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
