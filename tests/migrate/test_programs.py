"""What transfer_to_npu mends in a program, and what not."""

from __future__ import annotations

import pytest

from labkit import migrate

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


def test_a_place_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        migrate.scan(tmp_path / "absent.py")
