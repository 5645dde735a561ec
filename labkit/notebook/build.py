"""`labkit build`: notebooks from their sources, byte for byte the same every time.

Without arguments a notebook is executed when its code cells changed; texts alone are rewritten without running. A
notebook that is named is executed in any case, which is what to do when the library underneath changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from labkit import messages, paths
from labkit.exercises.spec import SpecError
from labkit.notebook import source as reader
from labkit.notebook.cells import Variant, notebook
from labkit.notebook.execute import DemoFailed, carry, execute, tidy


def to_text(nb: dict) -> str:
    """Canonical JSON: sorted keys, one space of indentation, multi-line strings as lists, one newline at the end."""
    import nbformat

    node = nbformat.from_dict(nb)
    nbformat.validate(node)
    return nbformat.writes(node, version=4).rstrip("\n") + "\n"


def load_notebook(path: Path) -> dict | None:
    """A notebook from a file; None where there is none."""
    import nbformat

    return nbformat.read(path, as_version=4) if path.is_file() else None


def write(path: Path, nb: dict) -> bool:
    """Write if it differs; whether it did."""
    text = to_text(nb)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def chosen(only: Iterable[str] | None, home: Path | None = None) -> list[reader.Source]:
    """The sources that `only` names (a number, an id, a path of source or notebook); all without it.
    Raises SystemExit for an unknown name.
    """
    every = [reader.read(p) for p in reader.sources(home)]
    wanted = [Path(name).name.removesuffix(".ipynb").removesuffix(".md") for name in only or ()]
    if not wanted:
        return every
    unknown = [w for w in wanted if not any(w in (s.id, s.number) for s in every)]
    if unknown:
        raise SystemExit(f"no notebook {', '.join(unknown)}; there are {', '.join(s.id for s in every)}")
    return [s for s in every if s.id in wanted or s.number in wanted]


def build(
    src: reader.Source, home: Path | None = None, *, run: bool = True, fresh: bool = False, lang: str = "en"
) -> bool:
    """Build the committed, unsolved notebook of one source; whether its file changed. Raises DemoFailed.

    Its sentences are held to its cells in English; the gate holds the numbers of the translation's outputs to those.
    """
    home = home or paths.notebooks_dir()
    target = src.target(home, lang)
    nb = notebook(src, Variant(lang=lang))
    if len({c["id"] for c in nb["cells"]}) < len(nb["cells"]):  # nbformat would give one of them a random id
        raise reader.SourceFormatError(
            f"{paths.display_path(src.path)}: two cells share an id; an exercise stands twice, or a key="
        )
    old = load_notebook(target)
    before, now = ((one or nb)["metadata"].get("labkit", {}).get("claims") for one in (old, nb))
    if run and (not carry(nb, old) or fresh or before != now):
        nb = execute(
            notebook(src, Variant(lang=lang), with_claims=lang == "en"),
            target.parent,
            paths.display_path(target),
            claims=tuple(src.claims),
            source=paths.display_path(src.path),
            lang=lang,
        )
    else:
        import nbformat

        nb = tidy(nbformat.from_dict(nb), nb["metadata"])
    return write(target, nb)


def build_variant(src: reader.Source, out: Path, variant: Variant, home: Path | None = None) -> Path:
    """A solved, mutant or Chinese notebook below `out`; demo outputs come from the committed one. The path written."""
    import nbformat

    nb = notebook(src, variant, with_claims=variant.kind == "solved")
    carry(nb, load_notebook(src.target(home or paths.notebooks_dir(), variant.lang)))
    write(src.target(out), tidy(nbformat.from_dict(nb), nb["metadata"]))
    return src.target(out)


def main(
    only: Iterable[str] | None = None,
    *,
    stamp: bool = False,
    execute: bool = True,
    home: Path | None = None,
    langs: Iterable[str] = messages.LANGUAGES,
) -> int:
    """The command. Exit code 1 when a demo cell fails."""
    only = list(only or ())
    try:
        if stamp:
            for path in reader.sources(home):
                if changed := reader.stamp(path):
                    print(f"{paths.display_path(path)}: {changed} translations stamped")
        return _build_all(chosen(only, home), home, execute, bool(only), tuple(langs))
    except (reader.SourceFormatError, SpecError) as error:
        print(error, file=sys.stderr)
        return 1


def _build_all(every: list[reader.Source], home: Path | None, execute: bool, fresh: bool, langs: tuple) -> int:
    failed = 0
    for src, lang in ((src, lang) for src in every for lang in langs):
        try:
            changed = build(src, home, run=execute, fresh=fresh, lang=lang)
            name = src.target(Path(), lang).as_posix()
            print(f"{name}: {'written' if changed else 'unchanged'}", flush=True)
        except DemoFailed as error:
            failed += 1
            print(
                f"{error}\n  A demo cell failed or a sentence is no longer true, so this notebook was not written. "
                "Exercise cells are not run here: a demo must not depend on one.",
                file=sys.stderr,
            )
    return 1 if failed else 0
