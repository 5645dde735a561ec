"""Runs watch.py again and again: torch is imported once, and each run is a fork of this process.

A program that is run by its path: labkit is imported by the forks alone, since its device refuses to work in a fork of
a process that has it. For each line of stdin, {"folder", "arguments"}, a run of watch.main(arguments) whose output lies
in the folder; a line of stdout says that it has ended.
"""

import json
import os
import sys
import traceback


def main() -> None:
    import numpy  # noqa: F401
    import torch.utils.benchmark  # noqa: F401

    print("up", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if not (child := os.fork()):
            _run(request)
        os.waitpid(child, 0)
        print("ended", flush=True)


def _run(request: dict) -> None:
    """In the fork; does not return."""
    os.chdir(request["folder"])
    for number, name in enumerate((os.devnull, "said", "logged")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY), number)
    sys.stdin = open(os.devnull, encoding="utf-8")
    try:
        from labkit.bench.lies import watch

        watch.main(request["arguments"])
    except BaseException:
        traceback.print_exc()
    os._exit(1)  # watch.main() has ended the process where all went well


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    main()
