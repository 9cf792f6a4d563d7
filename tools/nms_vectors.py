"""Makes examples/yolo26/src/tests/nms.bin: a dense head's output, and what
Ultralytics' non_max_suppression keeps of it.

The head is drawn, not computed: clusters of boxes around objects, several classes
a box, scores on both sides of the thresholds, boxes exactly at the IoU threshold.
Scores differ from each other, since torch sorts equal ones as it likes.

    pip install ultralytics==8.4.90 torch==2.9.1 torchvision==0.24.1 numpy
    python tools/nms_vectors.py examples/yolo26/src/tests/nms.bin

Little-endian: u32 classes, u32 anchors, f32 [4 + classes, anchors]; then for
`predict` (conf 0.25, best class) and `val` (conf 0.001, all classes), each with the
IoU and limits that those commands have by default, u32 rows, f32 [rows, 6].
"""

import struct
import sys

import numpy as np
import torch
import torchvision  # noqa: F401  Ultralytics uses its nms where it is loaded
from ultralytics.utils.nms import non_max_suppression

CLASSES, OBJECTS, EACH, SIDE = 6, 12, 14, 640


def head(rng):
    anchors = OBJECTS * EACH
    boxes = np.zeros((4, anchors), np.float32)
    scores = np.zeros((CLASSES, anchors), np.float32)
    for i in range(OBJECTS):
        centre, size = rng.uniform(60, SIDE - 60, 2), rng.uniform(20, 200, 2)
        here = slice(i * EACH, (i + 1) * EACH)
        spread = size[:, None] * rng.normal(0, 0.05, (2, EACH))
        boxes[:2, here] = centre[:, None] + spread
        boxes[2:, here] = size[:, None] * rng.uniform(0.9, 1.12, (2, EACH))
        scores[:, here] = rng.uniform(0, 0.004, (CLASSES, EACH))
        scores[i % CLASSES, here] = rng.uniform(0.05, 0.95, EACH)
        scores[(i + 1) % CLASSES, here] = rng.uniform(0.0, 0.6, EACH)
    # 10 x 10, moved by 1.7647 (IoU 0.7 but for rounding) to either side.
    for k, move in enumerate((0.0, 1.7646, 1.7648)):
        boxes[:, k] = (200 + move, 200, 10, 10)
        scores[:, k] = 0
        scores[3, k] = 0.96 + 0.001 * k
    assert len(np.unique(scores)) == scores.size - (3 * (CLASSES - 1) - 1)
    return np.concatenate([boxes, scores])


def main(path):
    values = head(np.random.default_rng(26))
    out = struct.pack("<II", CLASSES, values.shape[1]) + values.tobytes()
    for conf, multi_label in ((0.25, False), (0.001, True)):
        tensor = torch.from_numpy(values.copy())[None]
        kept = non_max_suppression(
            tensor, conf, 0.7, multi_label=multi_label, max_det=300
        )[0].numpy()
        print(f"conf {conf}: {len(kept)} rows, last score {kept[-1, 4]:.4f}")
        out += struct.pack("<I", len(kept)) + kept.astype("<f4").tobytes()
    with open(path, "wb") as f:
        f.write(out)
    print(f"{path}: {len(out)} bytes")


main(sys.argv[1])
