"""What the cube's loads do, written down once more from the public documents, on plain numpy arrays.

Memories are images of 512-byte fractals: arrays of shape (fractals, elements). Nothing here is fast.
"""

from __future__ import annotations

import numpy as np


def load_2d(l0: np.ndarray, l1: np.ndarray, start=0, times=0, stride=0, gap=0, turned=False, down=False) -> None:
    """LoadData 2D: one fractal a repeat."""
    for i in range(times):
        fractal = l1[start - i * stride if down else start + i * stride]
        l0[i * (1 + gap)] = fractal.reshape(16, 16).T.ravel() if turned else fractal


def load_turned(l0: np.ndarray, l1: np.ndarray, start=0, times=0, stride=0, gap=0, inner=0, down=False) -> None:
    """LoadDataWithTranspose: a square of one, two or four fractals a repeat."""
    c0 = l1.shape[1] // 16
    for i in range(times):
        index = start - i * stride if down else start + i * stride
        if c0 == 16:
            l0[i * (1 + gap)] = l1[index].reshape(16, 16).T.ravel()
        elif c0 == 32:  # two fractals, one under the other
            square = l1[2 * index : 2 * index + 2].reshape(32, 32).T
            for part in range(2):
                l0[i * (1 + gap) + part * (1 + inner)] = square[16 * part : 16 * part + 16].ravel()
        else:  # two fractals of 16 x 8 side by side
            square = np.hstack([l1[2 * index + part].reshape(16, 8) for part in range(2)]).T
            for part in range(2):
                l0[i * (1 + gap) + part * (1 + inner)] = square[:, 8 * part : 8 * part + 8].ravel()


def unfolded(image: np.ndarray, f: dict, c0: int) -> np.ndarray:
    """The matrix of image-to-column: a row a place of the filter; columns by C1, filter row, filter column, channel."""
    h, w, channels = f["height"], f["width"], f["channels"]
    whole, tail = channels // c0 * c0, channels % c0
    planes = [image[p * h * w * c0 : (p + 1) * h * w * c0].reshape(h, w, c0) for p in range(whole // c0)]
    if tail:
        planes.append(image[whole * h * w : whole * h * w + h * w * tail].reshape(h, w, tail))
    out_h = (h + f["top"] + f["bottom"] - (f["filterH"] - 1) * f["dilationH"] - 1) // f["strideH"] + 1
    out_w = (w + f["left"] + f["right"] - (f["filterW"] - 1) * f["dilationW"] - 1) // f["strideW"] + 1
    rows = []
    for y in range(out_h):
        for x in range(out_w):
            row = []
            for plane in planes:
                for fy in range(f["filterH"]):
                    for fx in range(f["filterW"]):
                        py = y * f["strideH"] - f["top"] + fy * f["dilationH"]
                        px = x * f["strideW"] - f["left"] + fx * f["dilationW"]
                        inside = 0 <= py < h and 0 <= px < w
                        row.append(plane[py, px] if inside else np.full(plane.shape[2], f["pad"], image.dtype))
            rows.append(np.concatenate(row))
    return np.array(rows)


def load_3d(l0: np.ndarray, l1: np.ndarray, f: dict, right: bool) -> None:
    """LoadData 3D: a cut of the unfolded matrix, in Zz or Zz turned over (L0A), or in Zn (L0B)."""
    c0 = l1.shape[1] // 16
    matrix = unfolded(l1.ravel(), f, c0)
    high, wide = -(-f["mExtent"] // 16) * 16, -(-f["kExtent"] // c0) * c0
    big = np.zeros((matrix.shape[0] + 70000, matrix.shape[1] + 4096), matrix.dtype)
    big[: matrix.shape[0], : matrix.shape[1]] = matrix
    cuts = []
    for i in range(f["repeat"]):
        m = f["mStart"] + (i * f["repeatStride"] * 16 if f["repeatMode"] == 0 else 0)
        k = f["kStart"] + (i * f["repeatStride"] * c0 if f["repeatMode"] == 1 else 0)
        cuts.append(big[m : m + high, k : k + wide])
    cut = np.vstack(cuts) if f["repeatMode"] == 0 else np.hstack(cuts)
    if not right and not f["turned"]:
        put_fractals(l0, cut, 16, c0)
    elif not right:
        put_fractals(l0, cut.T, 16, c0, keep=True)
    else:  # Zn: fractals row by row, each holding its columns one after the other
        height, width = cut.shape
        across = -(-width // 16)
        for i in range(0, height, c0):
            for j in range(0, width, 16):
                part = cut[i : i + c0, j : j + 16].T
                l0[i // c0 * across + j // 16][: part.size] = part.ravel()


def put_fractals(l0: np.ndarray, matrix: np.ndarray, rows: int, cols: int, keep=False) -> None:
    """Zz: fractals row by row, each row by row. keep: a last fractal that is not full leaves the rest as it was."""
    height, width = matrix.shape
    across = -(-width // cols)
    for i in range(0, height, rows):
        for j in range(0, width, cols):
            part = matrix[i : i + rows, j : j + cols]
            l0[i // rows * across + j // cols][: part.size] = part.ravel()


def nd2nz(l1: np.ndarray, gm: np.ndarray, f: dict, c0: int) -> None:
    """DataCopy with Nd2NzParams; l1 and gm are flat."""
    for nd in range(f["nds"]):
        for r in range(f["rows"]):
            row = gm[nd * f["srcMatrix"] + r * f["srcRow"] :][: f["cols"]]
            for c in range(-(-f["cols"] // c0)):
                line = np.zeros(c0, gm.dtype)
                part = row[c * c0 : (c + 1) * c0]
                line[: len(part)] = part
                at = nd * f["dstMatrix"] + c * f["dstCol"] * c0 + r * f["dstRow"] * c0
                l1[at : at + c0] = line


def zz(matrix: np.ndarray, c0: int) -> np.ndarray:
    """A matrix as L0A holds it, flat."""
    m, k = -(-matrix.shape[0] // 16) * 16, -(-matrix.shape[1] // c0) * c0
    padded = np.zeros((m, k), matrix.dtype)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return padded.reshape(m // 16, 16, k // c0, c0).transpose(0, 2, 1, 3).ravel()


def zn(matrix: np.ndarray, c0: int) -> np.ndarray:
    """A matrix as L0B holds it, flat."""
    k, n = -(-matrix.shape[0] // c0) * c0, -(-matrix.shape[1] // 16) * 16
    padded = np.zeros((k, n), matrix.dtype)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return padded.reshape(k // c0, c0, n // 16, 16).transpose(0, 2, 3, 1).ravel()
