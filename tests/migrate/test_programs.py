"""What transfer_to_npu mends in a program, and what not."""

from __future__ import annotations

import pytest

from labkit import migrate
from labkit.migrate.programs import PACKAGES

PROGRAM = '''"""Trains on cuda."""
import os
import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler
from flash_attn import flash_attn_func
from torch.utils.cpp_extension import load as build

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
device = "cuda:0" if torch.cuda.is_available() else "cpu"
torch.backends.cudnn.benchmark = True
model = nn.Linear(8, 8).cuda()
model = torch.jit.script(model)
kernel = build("fast", ["fast.cu"])
torch.distributed.init_process_group("nccl")
print("no cuda here")
'''


def test_each_line_with_what_becomes_of_it(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    found = {(row.line, row.what, row.mended) for row in migrate.scan(tmp_path / "train.py")}
    assert found == {
        (5, "torch.cuda.amp.GradScaler", True),
        (6, "flash_attn", False),
        (7, "torch.utils.cpp_extension.load", False),
        (9, "CUDA_VISIBLE_DEVICES", False),
        (10, '"cuda:0"', True),
        (10, "torch.cuda.is_available", True),
        (11, "torch.backends.cudnn.benchmark", True),
        (12, ".cuda", True),
        (13, "torch.jit.script", False),
        (15, '"nccl"', True),
    }


def test_a_folder_with_sources_of_cuda_and_a_file_that_is_no_python(tmp_path):
    (tmp_path / "fast.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "old.py").write_text("print 1\n")
    (tmp_path / "plain.py").write_text("import torch\nx = torch.ones(2)\n")
    assert [(row.file, row.mended) for row in migrate.scan(tmp_path)] == [("fast.cu", False), ("old.py", False)]


def test_what_is_no_source_of_the_program_is_left_out(tmp_path):
    for name in ("x.py", ".venv", "lib/site-packages"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".venv/a.py", "lib/site-packages/b.py"):
        (tmp_path / name).write_text("x.cuda()\n")
    (tmp_path / ".#train.py").symlink_to("nobody@nowhere")
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfx.cuda()\n")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe4\nx = '\\d'\n")
    assert [(row.file, row.what) for row in migrate.scan(tmp_path)] == [("marked.py", ".cuda")]


def test_a_notebook_is_no_kernel_and_imported_objects_move_too(tmp_path):
    (tmp_path / "n.ipynb").write_text('{"cells": []}')
    (tmp_path / "t.py").write_text("import torch.backends.cudnn as cudnn\nfrom models import net\nnet.cuda()\n")
    assert all("kernel" not in row.why for row in migrate.scan(tmp_path / "n.ipynb"))
    assert [(row.line, row.what) for row in migrate.scan(tmp_path / "t.py")] == [
        (1, "torch.backends.cudnn"),
        (3, ".cuda"),
    ]


@pytest.mark.parametrize("name", PACKAGES)
def test_each_package_has_its_sentence(tmp_path, name):
    (tmp_path / "t.py").write_text(f"import {name}\n")
    (row,) = migrate.scan(tmp_path / "t.py")
    assert (row.what, row.mended) == (name, False) and row.why


def test_a_packages_own_cuda_is_not_mended(tmp_path):
    (tmp_path / "t.py").write_text("import cupy as cp\nimport numba.cuda\ncp.cuda.Stream()\nnumba.cuda.jit(f)\n")
    found = [(row.line, row.what, row.mended) for row in migrate.scan(tmp_path / "t.py")]
    assert found == [(1, "cupy", False), (2, "numba.cuda", False), (3, "cupy", False), (4, "numba.cuda", False)]


def test_a_place_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        migrate.scan(tmp_path / "absent.py")


def test_a_programs_own_module_is_no_package_of_that_name(tmp_path):
    (tmp_path / "m.py").write_text(
        "from .triton import k\nfrom ..apex.amp import z\nfrom .torch.cuda import q\nq.f()\n"
    )
    assert migrate.scan(tmp_path / "m.py") == []


@pytest.mark.parametrize("text", ["x = " + " + ".join(["'a'"] * 20_000), "x = a" + ".b" * 9_000])
def test_a_program_that_is_nested_too_deep_is_said_and_the_others_are_read(tmp_path, text):
    (tmp_path / "deep.py").write_text(text)
    (tmp_path / "t.py").write_text("x.cuda()\n")
    assert [(row.file, row.mended) for row in migrate.scan(tmp_path)] == [("deep.py", False), ("t.py", True)]


@pytest.mark.parametrize("text", ["cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo", "cuda:nccl"])
def test_a_backend_for_each_device_is_changed_by_hand(tmp_path, text):
    """transfer_to_npu replaces nccl in it, and cuda nowhere."""
    (tmp_path / "t.py").write_text(f'init_process_group("{text}")\nx = "cuda:1"\n')
    rows = migrate.scan(tmp_path / "t.py")
    assert [(row.what, row.mended) for row in rows] == [(f'"{text}"', False), ('"cuda:1"', True)]
    assert "npu:hccl" in rows[0].why


def test_what_a_star_brings_is_judged_where_it_is_used(tmp_path):
    (tmp_path / "t.py").write_text(
        "from torch.utils.cpp_extension import *\nfrom torch.jit import *\nfrom torch.cuda import *\n"
        "k = load('fast', ['fast.cu'])\nm = script(m)\nload = 3\nfrom torch import *\ncuda = 1\n"
    )
    assert [(row.line, row.what, row.mended) for row in migrate.scan(tmp_path / "t.py")] == [
        (3, "torch.cuda.*", True),
        (4, "torch.utils.cpp_extension.load", False),
        (5, "torch.jit.script", False),
    ]
