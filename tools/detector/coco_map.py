"""Runs the ONNX file with onnxruntime in FP32 and measures by COCO's rules."""

import contextlib
import io

import numpy as np
import onnxruntime

from . import scenes

LEAST = 0.001  # scores below are left out, as validators do


def detections(model, paths, size, batch=50):
    """[image, x1, y1, x2, y2, score, class] in the picture's own pixels."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    found = []
    for start in range(0, len(paths), batch):
        parts = [scenes.letterbox(path, size) for path in paths[start : start + batch]]
        values = np.stack([part[0] for part in parts]).transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
        rows = session.run(["output0"], {"images": values})[0]
        found += scaled(rows.astype(np.float64), parts, start)
    return found


def scaled(rows, parts, start):
    """Rows of a batch of letterboxed pictures, back in the pictures' own pixels."""
    found = []
    for i, (_, (width, height), (left, top, w, h)) in enumerate(parts):
        good = rows[i][rows[i][:, 4] > LEAST]
        good[:, [0, 2]] = ((good[:, [0, 2]] - left) / (w / width)).clip(0, width)
        good[:, [1, 3]] = ((good[:, [1, 3]] - top) / (h / height)).clip(0, height)
        found += [[start + i, *row] for row in good]
    return found


def measure(paths, found, names):
    """mAP50 and mAP50-95 of `found` against the label files beside `paths`."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    import cv2

    images, truth = [], []
    for i, path in enumerate(paths):
        height, width = cv2.imread(str(path)).shape[:2]
        images.append({"id": i + 1, "width": width, "height": height})
        for kind, (x1, y1, x2, y2) in zip(*scenes.labels(path)):
            x1, y1, x2, y2 = x1 * width, y1 * height, x2 * width, y2 * height
            truth.append({
                "id": len(truth) + 1, "image_id": i + 1, "category_id": int(kind) + 1, "iscrowd": 0,
                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1),
            })
    kinds = [{"id": i + 1, "name": name} for i, name in enumerate(names)]
    results = [
        {"image_id": i + 1, "category_id": int(kind) + 1, "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score}
        for i, x1, y1, x2, y2, score, kind in found
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"images": images, "annotations": truth, "categories": kinds}
        coco.createIndex()
        run = COCOeval(coco, coco.loadRes(results), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    precision = run.eval["precision"][0, :, :, 0, 2]  # IoU 0.5, all areas, 100 rows
    return {
        "map50": float(run.stats[1]),
        "map50_95": float(run.stats[0]),
        "objects": len(truth),
        "map50_per_class": {name: round(float(precision[:, i].mean()), 4) for i, name in enumerate(names)},
        "map50_95_by_size": [round(float(v), 4) for v in run.stats[3:6]],
    }
