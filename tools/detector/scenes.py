"""Folders that `make-scenes` wrote, as tensors: letterboxed as Ultralytics' validation
does it (reference: the package yolo26, `preprocess`), so grey 114 around, no crop."""

import math
import re
from multiprocessing import Pool
from pathlib import Path

import cv2
import numpy as np

MOST = 12  # objects of a scene at most
GREY = 114


def names(folder):
    text = (Path(folder) / "coco.yaml").read_text()
    return [name for _, name in sorted((int(n), name) for n, name in re.findall(r"^  (\d+): (.+)$", text, re.M))]


def images(folder, count=None):
    return sorted((Path(folder) / "images").iterdir())[:count]


def labels(path):
    """Class and x1, y1, x2, y2 as shares of the picture."""
    text = (path.parent.parent / "labels" / path.with_suffix(".txt").name).read_text()
    values = np.array([line.split() for line in text.splitlines()], np.float64).reshape(-1, 5)
    low, high = values[:, 1:3] - values[:, 3:5] / 2, values[:, 1:3] + values[:, 3:5] / 2
    return values[:, 0].astype(np.int64), np.concatenate([low, high], 1)


def letterbox(path, size):
    """RGB (size, size, 3), the picture's own size, and left, top, width, height in it."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    height, width = image.shape[:2]
    ratio = size / max(height, width)
    w, h = width, height
    if ratio != 1:
        w, h = min(math.ceil(width * ratio), size), min(math.ceil(height * ratio), size)
        image = cv2.resize(image, (w, h), interpolation=cv2.INTER_LINEAR)
    left, top = round((size - w) / 2 - 0.1), round((size - h) / 2 - 0.1)
    whole = np.full((size, size, 3), GREY, np.uint8)
    whole[top : top + h, left : left + w] = image[:, :, ::-1]
    return whole, (width, height), (left, top, w, h)


def sample(job):
    path, size = job
    image, _, (left, top, w, h) = letterbox(path, size)
    kinds, corners = labels(path)
    kind, box = np.full(MOST, -1, np.int64), np.zeros((MOST, 4), np.float32)
    kind[: len(kinds)] = kinds
    box[: len(kinds)] = corners * [w, h, w, h] + [left, top, left, top]
    return image.transpose(2, 0, 1), kind, box


def load(folder, size, workers):
    jobs = [(path, size) for path in images(folder)]
    with Pool(workers, initializer=cv2.setNumThreads, initargs=(1,)) as pool:
        parts = pool.map(sample, jobs, chunksize=64)
    return tuple(np.stack(part) for part in zip(*parts))
