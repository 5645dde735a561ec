"""Do public programs for torch_npu, and for PyTorch's accelerators, run unchanged on the simulated device?

    python scripts/foreign_programs.py DIR [name ...] [--write] [-v] [--keep FOLDER]

DIR holds one folder a repository, named owner+name, at the commit of data/foreign_programs.csv; the programs are not in
this repository. Each is copied to a scratch folder, gets data that were made for it (below), and runs twice: on the
simulated device, and with plain PyTorch on the CPU (scripts/foreign_prelude.py, which also seeds both and notes every
loss). It passes if it ends with status 0 and each loss is equal to the CPU's within its tolerance (relative to the
larger of the loss and 1). A program that calls no backward() is compared by the numbers that it prints after `figures`.

How the programs were chosen (written before any of them was run, 22 November 2026). 25 of 26, failures count:
 1. Those that name torch_npu: every entry file of Ascend/ModelZoo-PyTorch whose imports need nothing but PyTorch, the
    repository's own files and packages of PyPI (no apex, torchvision, torchaudio, mmcv, dllogger, fairseq), that reads
    no downloaded weights, whose data 20 lines can make and that needs less than 4 GB; of one folder the first three by
    path. And the programs of npugraph.md of Ascend/pytorch, whole code blocks as they stand.
 2. Of pytorch/examples: FSDP2, tensor parallel, sequence parallel, DDP, minGPT-ddp, and those on one device whose data
    can be made: word_language_model, mnist, vae, dcgan, super_resolution.
 3. nanoGPT and minGPT; diffusers' training of a UNet; vit-pytorch's training script.
Added on the same day, after the others had run: DSCNN of ModelZoo-PyTorch, because every program for pictures among
them imports torchvision. It trains convolutions on pictures and imports nothing but PyTorch, numpy and PIL; it names
torch.npu only, so rule 1 does not find it. After the first failures the stub got more names and a version (diffusers),
and the CPU's run more of the device's manners (foreign_prelude.py); no program was exchanged.
Where a program imports torchvision, it gets the few names of it that it uses (`stub` in the table; _TORCHVISION below).

Run by hand, not by CI: it needs the sources and packages that the lab does not (last column).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "data" / "foreign_programs.csv"
LIMIT = 900  # seconds

# ---- data that programs read, in their format


def criteo(at: Path) -> None:
    """DeepFM's preprocessed Criteo: 26 columns of categories, 13 of numbers."""
    import numpy as np

    rng, sizes = np.random.default_rng(0), [int(n) for n in np.random.default_rng(1).integers(5, 200, 26)]
    (at / "data").mkdir()
    sparse, dense = [f"C{i}" for i in range(1, 27)], [f"I{i}" for i in range(1, 14)]
    for name, rows in (("deepfm_trainval.txt", 4096), ("deepfm_test.txt", 512)):
        table = np.column_stack(
            [rng.integers(0, 2, rows), *(rng.integers(0, n, rows) for n in sizes), rng.random((rows, 13)).round(4)]
        )
        np.savetxt(at / "data" / name, table, fmt="%g", delimiter="\t", header="\t".join(["label", *sparse, *dense]),
                   comments="")  # fmt: skip
    (at / "data" / "data.ini").write_text(
        f"[data]\ntrain_sample_num=4096\ntest_sample_num=512\nsparse_features={','.join(sparse)}\n"
        f"dense_features={','.join(dense)}\ntarget=label\nsparse_nunique={','.join(map(str, sizes))}\n"
    )


def digits(at: Path) -> None:
    """MNIST's images as one gzipped file."""
    import gzip

    import numpy as np

    (at / "data").mkdir(exist_ok=True)
    images = np.random.default_rng(0).integers(0, 256, (100, 28, 28), dtype=np.uint8)
    with gzip.open(at / "data" / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(bytes(16) + images.tobytes())


def words(at: Path) -> None:
    import random

    rng = random.Random(0)
    (at / "data" / "wikitext-2").mkdir(parents=True, exist_ok=True)
    for name, lines in (("train", 300), ("valid", 40), ("test", 40)):
        text = "\n".join(" ".join(f"w{int(rng.paretovariate(1)) % 400}" for _ in range(20)) for _ in range(lines))
        (at / "data" / "wikitext-2" / f"{name}.txt").write_text(text + "\n")


def photos(at: Path) -> None:
    """BSDS300 for super_resolution, and a folder of pictures for diffusers."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for folder, count, side in (("train", 16, 288), ("test", 4, 288)):
        home = at / "dataset" / "BSDS300" / "images" / folder
        home.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            small = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
            Image.fromarray(small).resize((side, side), Image.BICUBIC).save(home / f"{i}.jpg")


def scenes(at: Path) -> None:
    """Pictures in full HD, and smaller ones of them."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for folder in ("train_data", "label_data", "models"):
        (at / folder).mkdir()
    for i in range(8):
        small = Image.fromarray(rng.integers(0, 256, (9, 16, 3), dtype=np.uint8))
        small.resize((1920, 1080), Image.BICUBIC).save(at / "label_data" / f"{i}.png")
        small.resize((960, 540), Image.BICUBIC).save(at / "train_data" / f"{i}.png")


def characters(at: Path) -> None:
    import pickle
    import random

    import numpy as np

    letters = np.array([random.Random(i // 7).randrange(65) for i in range(20000)], dtype=np.uint16)
    home = at / "data" / "shakespeare_char"
    letters[:18000].tofile(home / "train.bin")
    letters[18000:].tofile(home / "val.bin")
    with open(home / "meta.pkl", "wb") as file:
        pickle.dump({"vocab_size": 65, "itos": {}, "stoi": {}}, file)


def plain_text(at: Path) -> None:
    import random

    rng = random.Random(0)
    (at / "data").mkdir(exist_ok=True)
    (at / "data" / "input.txt").write_text("".join(rng.choice("abcdefgh \n") for _ in range(3000)))


def unet(at: Path) -> None:
    """Pictures, and a small UNet with attention."""
    import json

    photos(at)
    (at / "unet").mkdir()
    blocks = {"down_block_types": ["DownBlock2D", "AttnDownBlock2D"], "up_block_types": ["AttnUpBlock2D", "UpBlock2D"]}
    sizes = {"sample_size": 32, "in_channels": 3, "out_channels": 3, "layers_per_block": 1, "norm_num_groups": 8}
    name = {"_class_name": "UNet2DModel", "block_out_channels": [16, 32]}
    (at / "unet" / "config.json").write_text(json.dumps(name | blocks | sizes))


_FSDP2 = """
import os, torch
from model import ModelArgs, Transformer
torch.manual_seed(0)
model = Transformer(ModelArgs(n_layers=10, n_heads=4, vocab_size=1024, max_seq_len=64, dropout_p=0))
adam = torch.optim.Adam(model.parameters(), lr=1e-2)
for p in model.parameters(): p.grad = torch.zeros_like(p)
adam.step()
os.makedirs("checkpoints/dtensor_api/1")
torch.save(model.state_dict(), "checkpoints/dtensor_api/1/model_state_dict.pt")
torch.save(adam.state_dict(), "checkpoints/dtensor_api/1/optim_state_dict.pt")
"""


def fsdp2(at: Path) -> None:
    """A checkpoint to go on from: each rank draws its shards by itself, so a fresh start differs between devices."""
    environment = os.environ | {"LABKIT_DEVICE": "none"}
    subprocess.run([sys.executable, "-c", _FSDP2], cwd=at, env=environment, check=True)


# ---- the few names of torchvision that programs of the table use

_TORCHVISION = """
import enum, os, sys, types
import numpy as np, torch
from PIL import Image

def _module(name, **names):
    made = types.ModuleType(f"torchvision.{name}")
    made.__dict__.update(names)
    sys.modules[f"torchvision.{name}"] = globals()[name] = made

class InterpolationMode(enum.Enum):
    NEAREST = "nearest"; BILINEAR = "bilinear"; BICUBIC = "bicubic"
    NEAREST_EXACT = "nearest-exact"; BOX = "box"; HAMMING = "hamming"; LANCZOS = "lanczos"

class Compose:
    def __init__(self, steps): self.steps = steps
    def __call__(self, x):
        for step in self.steps: x = step(x)
        return x

class ToTensor:
    def __call__(self, image):
        a = np.array(image, dtype=np.float32) / 255
        return torch.from_numpy(a[None] if a.ndim == 2 else a.transpose(2, 0, 1).copy())

class PILToTensor:
    def __call__(self, image): return (ToTensor()(image) * 255).byte()

class ConvertImageDtype:
    def __init__(self, dtype): self.dtype = dtype
    def __call__(self, x): return x.to(self.dtype) / 255

class Normalize:
    def __init__(self, mean, std): self.mean, self.std = mean, std
    def __call__(self, x):
        return (x - torch.tensor(self.mean)[:, None, None]) / torch.tensor(self.std)[:, None, None]

class Resize:
    def __init__(self, size, interpolation=None): self.size = size
    def __call__(self, image):
        w, h = image.size
        size = self.size if not isinstance(self.size, int) else (
            (self.size, int(self.size * h / w)) if w < h else (int(self.size * w / h), self.size))
        return image.resize(size, Image.BILINEAR)

class CenterCrop:
    def __init__(self, size): self.size = size if isinstance(size, int) else size[0]
    def __call__(self, image):
        w, h = image.size
        left, top = (w - self.size) // 2, (h - self.size) // 2
        return image.crop((left, top, left + self.size, top + self.size))

class RandomCrop(CenterCrop): pass

class Lambda:
    def __init__(self, f): self.f = f
    def __call__(self, x): return self.f(x)

class RandomHorizontalFlip:
    def __call__(self, x): return x

class _Made(torch.utils.data.Dataset):
    shape, classes, count = (28, 28), 10, 512
    def __init__(self, root=None, train=True, transform=None, download=False, **more):
        rng = np.random.default_rng(0 if train else 1)
        self.count = self.count if train else 128
        self.transform = transform
        self.data = torch.from_numpy(rng.integers(0, 256, (self.count, *self.shape), dtype=np.uint8))
        self.targets = torch.from_numpy(rng.integers(0, self.classes, self.count))
    def __len__(self): return self.count
    def __getitem__(self, i):
        image = Image.fromarray(self.data[i].numpy())
        return (self.transform(image) if self.transform else image), int(self.targets[i])

class MNIST(_Made): pass
class CIFAR10(_Made): shape = (32, 32, 3)
class CIFAR100(_Made): shape, classes, count = (32, 32, 3), 100, 96
class FakeData(_Made):
    def __init__(self, size=1000, image_size=(3, 224, 224), num_classes=10, transform=None, **more):
        self.shape, self.count = (image_size[1], image_size[2], 3), min(size, 96)
        super().__init__(transform=transform)

def save_image(tensor, path, **more): torch.save(tensor.cpu(), path)

_module("transforms", **{c.__name__: c for c in (
    InterpolationMode, Compose, ToTensor, PILToTensor, ConvertImageDtype, Normalize, Resize, CenterCrop, RandomCrop,
    Lambda, RandomHorizontalFlip)})
transforms.__path__ = []
_module("transforms.functional", InterpolationMode=InterpolationMode, pil_to_tensor=PILToTensor())
_module("transforms.v2", **transforms.__dict__)
transforms.functional = sys.modules["torchvision.transforms.functional"]
_module("datasets", MNIST=MNIST, CIFAR10=CIFAR10, CIFAR100=CIFAR100, FakeData=FakeData)
_module("utils", save_image=save_image)
_module("io", ImageReadMode=InterpolationMode, decode_image=None, read_image=None)
"""

# ---- one program


def rows() -> list[dict]:
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def blob(data: bytes) -> str:
    """git's name for a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def block(text: str, number: int) -> str:
    """A code block of a page, by its number from 1."""
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)[number - 1]


def place(row: dict, sources: Path, at: Path) -> Path:
    """Copies the program's folder and makes its data; returns where it is started."""
    home = sources / row["source"].replace("/", "+")
    path, _, part = row["path"].partition("#")
    if blob((home / path).read_bytes()) != row["blob"]:
        raise FileNotFoundError(f"{path} is not the file of {row['commit']}")
    if part:
        at.mkdir()
        (at / "program.py").write_text(block((home / path).read_text(), int(part)))
    else:
        shutil.copytree(home / row["folder"], at, ignore=shutil.ignore_patterns(".git"))
    start = at / row["start"]
    if row["data"]:
        globals()[row["data"]](start)
    if row["stub"]:
        stub = at / "stub" / row["stub"]
        stub.mkdir(parents=True)
        (stub / "__init__.py").write_text(_TORCHVISION)
        about = stub.with_name(f"{row['stub']}-0.20.0.dist-info")  # transformers asks for the installed version
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {row['stub']}\nVersion: 0.20.0\n")
    return start


def start(row: dict, mode: str, at: Path, start: Path) -> tuple[int, str, dict[str, list[float]], float]:
    """Runs it: status, what it said, losses by rank, seconds."""
    prelude = at / "prelude"
    prelude.mkdir()
    shutil.copy(ROOT / "scripts" / "foreign_prelude.py", prelude / "sitecustomize.py")
    command = shlex.split(row["command"])
    variables = {}
    while "=" in command[0]:
        name, _, value = command.pop(0).partition("=")
        variables[name] = value
    names_npu = row["begins"] != "torch"
    environment = os.environ | {
        "PYTHONPATH": ":".join(map(str, [prelude, at / "stub", at / "src", at, ROOT])),
        "FOREIGN_MODE": mode,
        "FOREIGN_LOSSES": str(at / "losses"),
        "FOREIGN_PRELOAD": "" if names_npu else "1",
        "FOREIGN_CUDA": "1" if row["begins"] == "transfer_to_npu" else "",
        "LABKIT_DEVICE": "auto" if mode == "npu" else "none", "LABKIT_NPUS": "8",
        "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled",
        "HF_HOME": str(at / "hf"), "PYTHONDONTWRITEBYTECODE": "1", "TQDM_DISABLE": "1", "MPLBACKEND": "Agg",
    } | variables  # fmt: skip
    if command[0] == "torchrun":
        command[0:1] = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    else:
        command[0] = sys.executable
    began = time.time()
    try:
        done = subprocess.run(command, cwd=start, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=LIMIT)  # fmt: skip
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        status, said = 124, f"{error.stdout or b''}{error.stderr or b''}\nno end after {LIMIT} s"
    losses = {}
    for file in sorted(at.glob("losses.*")):
        losses[file.suffix] = [float(line) for line in file.read_text().split()]
    if not losses and row["figures"]:
        losses["printed"] = [float(x) for x in re.findall(row["figures"] + r"\s*(-?[\d.]+(?:e[-+]?\d+)?)", said)]
    return status, said, losses, time.time() - began


def worst(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """The largest difference of two runs' losses, relative to the loss or to 1."""
    if one.keys() != other.keys() or any(len(one[k]) != len(other[k]) for k in one):
        return float("inf")
    pairs = [p for k in one for p in zip(one[k], other[k])]
    return max((abs(a - b) / max(1.0, abs(b)) if a == a or b == b else 0.0 for a, b in pairs), default=float("inf"))


def judge(row: dict, sources: Path, folder: Path, loud: bool) -> None:
    """Both runs of one program; puts outcome, losses, worst and reason into its row."""
    found, said = {}, {}
    row |= {"outcome": "failed", "launches": "", "losses": "", "worst": "", "reason": ""}
    for mode in ("npu", "cpu"):
        at = folder / row["name"].replace("/", "_") / mode
        shutil.rmtree(at, ignore_errors=True)
        at.parent.mkdir(exist_ok=True)
        try:
            begin = place(row, sources, at)
        except (FileNotFoundError, KeyError) as error:
            row |= {"outcome": "absent", "reason": str(error)}
            return
        status, said[mode], found[mode], seconds = start(row, mode, at, begin)
        (at / "said").write_text(said[mode])
        print(f"    {mode}: status {status}, {sum(map(len, found[mode].values()))} losses, {seconds:.0f} s", flush=True)
        if status:
            last = [line for line in said[mode].splitlines() if re.match(r"\S*(Error|Exception)\b", line)]
            row["reason"] = f"{mode}: " + (last[-1] if last else f"status {status}")[:200]
            if loud:
                print(said[mode][-3000:])
            return
    off, count = worst(found["npu"], found["cpu"]), sum(map(len, found["npu"].values()))
    launched = folder / row["name"].replace("/", "_") / "npu" / "launches"
    launches = sum(map(int, launched.read_text().split())) if launched.exists() else 0
    row |= {"losses": str(count), "worst": f"{off:.1e}", "launches": str(launches)}
    if not launches:
        row["reason"] = "nothing was launched on the device"
        return
    row["outcome"] = "equal" if off <= float(row["tolerance"]) else "differs"
    if row["outcome"] == "differs":
        row["reason"] = f"losses differ by {off:.1e}"
    if loud:
        print({m: {k: v[:4] + v[-2:] for k, v in f.items()} for m, f in found.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help="put the outcomes into the table")
    parser.add_argument("-v", action="store_true", help="show what failing programs said")
    parser.add_argument("--keep", type=Path, help="scratch folder that is left")
    options = parser.parse_args()
    table = rows()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        for row in table:
            if options.names and not any(n in row["name"] or n == row["outcome"] for n in options.names):
                continue
            print(row["name"], flush=True)
            judge(row, options.sources.resolve(), folder.resolve(), options.v)
            print(f"    {row['outcome']} {row['worst']} {row['reason']}", flush=True)
    if options.write:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            out.writeheader()
            out.writerows(table)
    ran = sum(r["outcome"] == "equal" for r in table)
    print(f"{ran} of {len(table)} run, losses equal to the CPU's within tolerance")
    return ran < len(table)


if __name__ == "__main__":
    sys.exit(main())
