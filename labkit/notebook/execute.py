"""Run a notebook's demo cells and keep their outputs; exercise cells stay un-run, as nbval wants them.

Demo cells are what a reader on the web sees, so their outputs are committed. An exercise cell is skipped here on
purpose: a demo that needs one then fails here, for the author, and not for the learner.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from labkit import paths
from labkit.build import runtime
from labkit.notebook.claims import TAG, complaint
from labkit.notebook.source import Claim

TIMEOUT_S = 300
SKIPPED = ("exercise", "nbval-skip")
KERNEL_ARGUMENTS = ["--IPKernelApp.log_level=ERROR"]  # ipykernel 7 warns of every local kernel's unencrypted sockets


class DemoFailed(RuntimeError):
    """A demo cell raised: the notebook, the cell's first line and the error. Or a sentence is no longer true: then
    `notebook` is what was built all the same."""

    notebook: dict | None = None


def environment(**more: str) -> dict[str, str]:
    """For a notebook's kernel: the checkout importable, a fixed language, no log of the author's progress, no
    strictness, and no word of what is compiled for the first time, which would be an output on one machine only.
    """
    env = {
        **os.environ,
        "LABKIT_LANG": "en",
        "LABKIT_PROGRESS": "off",
        "LABKIT_ANNOUNCE": "off",
        "LABKIT_STRICT": "0",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    env.pop("LABKIT_PLAIN", None)
    if env.get("LABKIT_KERNELS"):  # a notebook runs in its own folder
        env["LABKIT_KERNELS"] = os.pathsep.join(
            str(Path(p).resolve()) for p in env["LABKIT_KERNELS"].split(os.pathsep) if p
        )
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(paths.import_root()), os.environ.get("PYTHONPATH", "")) if p)
    return env | more


def execute(
    nb: dict,
    folder: Path,
    name: str,
    *,
    timeout: int = TIMEOUT_S,
    skip: tuple[str, ...] = SKIPPED,
    claims: tuple[Claim, ...] = (),
    source: str = "",
    lang: str = "en",
) -> dict:
    """`nb` (plain dicts) with the outputs of its code cells in language `lang`, run in `folder`. Raises DemoFailed.

    claims: those of its cells tagged "claim", which are taken out again. All are tried; the error names each that does
    not hold, at its line of `source`.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    by_line, untrue = {claim.line: claim for claim in claims}, []

    class Client(NotebookClient):
        async def async_execute_cell(self, cell, cell_index, *args, **kwargs):
            if set(skip) & set(cell["metadata"].get("tags", ())):
                return cell
            if TAG in cell["metadata"].get("tags", ()):
                try:
                    return await super().async_execute_cell(cell, cell_index, *args, **kwargs)
                except CellExecutionError as error:
                    said = error.evalue if error.ename == "AssertionError" else f"{error.ename}: {error.evalue}"
                    untrue.append(complaint(by_line[cell["metadata"]["labkit"]["claim"]], source, said))
                    return cell
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

    runtime.runner()  # built here, where its announcement is not an output of the notebook
    node = nbformat.from_dict(nb)
    folder.mkdir(parents=True, exist_ok=True)
    client = Client(
        node,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=KERNEL_ARGUMENTS,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute(env=environment(LABKIT_LANG=lang))
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise DemoFailed(f"{name}: {plain(str(error)).strip()}") from None
    if untrue:
        failed = DemoFailed("\n".join(untrue))
        failed.notebook = node
        raise failed
    node["cells"] = [cell for cell in node["cells"] if TAG not in cell["metadata"].get("tags", ())]
    return tidy(node, nb["metadata"])


def plain(text: str) -> str:
    """Without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def tidy(node, metadata: dict) -> dict:
    """Counts from 1 without gaps, only what nbval and a reader need, the metadata as built."""
    count = 0
    for cell in node["cells"]:
        if cell["cell_type"] != "code":
            continue
        if cell["execution_count"] is not None:
            count += 1
            cell["execution_count"] = count
        kept = []
        for output in cell["outputs"]:
            if len(output.get("data", ())) > 2:  # beside a picture and its words: a view needs the kernel that made it
                output["data"].pop("application/vnd.jupyter.widget-view+json", None)
            if output["output_type"] == "execute_result":
                output["execution_count"] = cell["execution_count"]
            if (
                output["output_type"] == "stream"
                and kept
                and kept[-1]["output_type"] == "stream"
                and kept[-1]["name"] == output["name"]
            ):
                kept[-1]["text"] += output["text"]
            else:
                kept.append(output)
        cell["outputs"] = kept
    node["metadata"] = metadata
    return node


def carry(built: dict, old: dict | None) -> bool:
    """Give the cells of `built` the outputs of the same cells in `old`.
    True when every cell that needs outputs got its own.
    """
    known = {c["id"]: c for c in (old or {}).get("cells", []) if c["cell_type"] == "code"}
    whole = True
    for cell in built["cells"]:
        if cell["cell_type"] != "code" or set(SKIPPED) & set(cell["metadata"].get("tags", ())):
            continue
        before = known.get(cell["id"])
        if before is not None and before["source"] == cell["source"] and before["execution_count"] is not None:
            cell["outputs"], cell["execution_count"] = before["outputs"], before["execution_count"]
        else:
            whole = False
    return whole and old is not None
