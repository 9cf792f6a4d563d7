"""Checks `yolo26 coco` and `yolo26 score` against Python, and makes their test vector.

    python tools/check_coco.py --yolo26 <the built example> [--vector <folder>]

What it does, in a temporary folder:
1. Writes an instances file with odd cases (names in many scripts, huge ids, sizes as
   floats, boxes outside the image or without an area, crowds, annotations without a box,
   images that are not there) and lets `yolo26 coco` convert it. The label files must be
   byte for byte those of `labels()` below, which is written from the published
   description; coco.yaml must read (PyYAML) as what it should say.
2. Draws random detections for random objects and compares all twelve numbers, and those of
   each class, of `yolo26 score` with those of pycocotools: equal to the last bit. The sets:
   400 images with crowds and all sizes; classes without objects and images without
   detections; more than 100 detections an image; no detections at all; equal scores.

With `--vector` it writes a small set as `truth.json`, `detections.json` and
`expected.json` (pycocotools' numbers), which the package's tests read.

Packages: pycocotools 2.0.11, numpy 2.4.6, PyYAML 6.
"""

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import yaml
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

KEYS = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--yolo26", required=True, help="the program")
    parser.add_argument("--vector", type=pathlib.Path, help="folder for the test vector")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_labels(args.yolo26, folder / "labels")
        for name, options in SETS.items():
            truth, detections = draw(**options)
            check_score(args.yolo26, folder / name, name, truth, detections)
    if args.vector:
        write_vector(args.vector)


# 1. Labels


def labels(instances):
    """The published conversion: file name without its ending -> text."""
    classes = {c["id"]: i for i, c in enumerate(sorted(instances["categories"], key=lambda c: c["id"]))}
    of_image = {}
    for annotation in instances["annotations"]:
        if annotation.get("iscrowd", 0) or not annotation.get("bbox"):
            continue
        of_image.setdefault(annotation["image_id"], []).append(annotation)
    texts = {}
    for image in instances["images"]:
        lines = []
        for annotation in of_image.get(image["id"], []):
            x, y, w, h = annotation["bbox"]
            cx, cy = (x + w / 2) / image["width"], (y + h / 2) / image["height"]
            w, h = w / image["width"], h / image["height"]
            lines.append(f"{classes[annotation['category_id']]} {cx:.6f} {cy:.6f} {w:.6f} {h:.6f}\n")
        texts[pathlib.PurePath(image["file_name"]).with_suffix(".txt").name] = "".join(lines)
    return texts


def odd_instances(rng):
    names = ["person", "yes", "No", "null", "3", "traffic light", 'zwei "Wörter": 犬', "a: b", "#1", " lead",
             "trail ", "ümlaut", "🐕", "back\\slash", "-", "~", "1e3", "0x1F", "2026-11-30", "don't", "%", "@x", "[a]"]
    ids = [int(i) for i in rng.permutation(len(names))]
    ids[3], ids[5], ids[7] = 2**63 - 1, 2**64 - 1, 2**53 + 1
    categories = [{"id": i, "name": n, "supercategory": ""} for i, n in zip(ids, names)]
    images, annotations = [], []
    for i in range(200):
        width, height = int(rng.integers(1, 2000)), int(rng.integers(1, 2000))
        number = 2**53 + i if i % 7 == 0 else i
        image = {"id": number, "file_name": f"{'bild ä' if i % 5 == 0 else ''}{i:012d}.v{i % 3}.jpg",
                 "width": float(width) if i % 2 else width, "height": height + (0.5 if i % 11 == 0 else 0)}
        images.append(image)
        for _ in range(int(rng.integers(0, 9)) if i % 4 else 0):
            annotation = {"id": len(annotations), "image_id": number,
                          "category_id": ids[int(rng.integers(len(ids)))], "iscrowd": int(rng.random() < 0.1),
                          "segmentation": [[1, 2, 3, 4, 5, 6.5]], "area": 1.0}
            kind = rng.random()
            x, y = rng.uniform(-50, width), rng.uniform(-50, height)
            w, h = rng.uniform(0, width + 99), rng.uniform(0, height + 99)
            box = [x, y, w, h]
            if kind < 0.5:
                box = [round(v, 2) for v in box]
            elif kind < 0.7:  # many ties at the sixth decimal
                image["width"] = 640
                box = [int(x), int(y), int(w), int(h)]
            elif kind < 0.75:
                box = [x, y, 0, 0]
            if kind > 0.95:
                box = [] if kind > 0.97 else None
            if kind < 0.98:
                annotation["bbox"] = box
            if kind > 0.3 and annotation["iscrowd"] == 0:
                del annotation["iscrowd"]
            annotations.append(annotation)
    order = rng.permutation(len(annotations))
    return {"info": {}, "licenses": [], "images": images, "annotations": [annotations[i] for i in order],
            "categories": [categories[i] for i in rng.permutation(len(categories))]}


def check_labels(program, folder):
    instances = odd_instances(np.random.default_rng(7))
    images = folder / "set/images/odd"
    images.mkdir(parents=True)
    for image in instances["images"][3:]:
        (images / image["file_name"]).touch()
    (folder / "instances.json").write_text(json.dumps(instances), encoding="utf-8")
    run(program, "coco", "--annotations", folder / "instances.json", "--images", images, "--output", folder / "set")
    expected = labels(instances)
    found = {p.name: p.read_bytes().decode() for p in (folder / "set/labels/odd").iterdir()}
    assert found == expected, next((k, found.get(k), expected[k]) for k in expected if found.get(k) != expected[k])
    read = yaml.safe_load((folder / "set/coco.yaml").read_text(encoding="utf-8"))
    names = [c["name"] for c in sorted(instances["categories"], key=lambda c: c["id"])]
    assert read == {"path": str((folder / "set").resolve()), "val": "images/odd", "names": dict(enumerate(names))}, read
    lines = sum(text.count("\n") for text in expected.values())
    print(f"labels: {len(expected)} files with {lines} lines equal byte for byte, coco.yaml reads the same")


# 2. Accuracy

SETS = {
    "all sizes and crowds": dict(seed=1, images=400, classes=80, objects=7, crowd=0.05, found=8, noise=12),
    "classes without objects, images without detections": dict(seed=2, images=60, classes=9, objects=2, without=4,
                                                               silent=0.5),
    "more than 100 detections an image": dict(seed=3, images=25, classes=2, objects=40, found=6, noise=600),
    "no detections": dict(seed=4, images=30, classes=5, objects=3, silent=1.0),
    "equal scores": dict(seed=5, images=120, classes=4, objects=6, found=4, noise=20, digits=1, crowd=0.1),
}
VECTOR = dict(seed=6, images=24, classes=6, objects=4, without=1, crowd=0.08, found=2, noise=3, digits=2, silent=0.1)


def draw(seed, images, classes, objects, without=0, crowd=0.0, found=2, noise=4, silent=0.0, digits=5):
    rng = np.random.default_rng(seed)
    # As COCO's, the ids leave gaps, and are not in order.
    ids = sorted(int(i) for i in rng.choice(np.arange(1, 3 * classes), classes, replace=False))
    numbers = [int(i) for i in rng.choice(999_999, images, replace=False)]
    truth = {"images": [], "annotations": [],
             "categories": [{"id": i, "name": f"class {i}"} for i in rng.permutation(ids).tolist()]}
    detections = []
    for number in numbers:
        width, height = int(rng.integers(100, 641)), int(rng.integers(100, 641))
        truth["images"].append({"id": number, "file_name": f"{number:012d}.jpg", "width": width, "height": height})
        quiet = rng.random() < silent

        def say(category, box):
            score = round(float(rng.beta(1, 3)), digits)
            box = [round(float(v), 3) for v in box]
            if not quiet:
                detections.append({"image_id": number, "category_id": category, "bbox": box, "score": score})

        for _ in range(int(rng.integers(0, 2 * objects + 1))):
            # Small, medium and large alike.
            w, h = np.minimum(np.exp(rng.uniform(np.log(6), np.log(400), 2)), [width, height])
            x, y = rng.uniform(0, width - w + 1e-9), rng.uniform(0, height - h + 1e-9)
            category = ids[int(rng.integers(classes - without))]
            box = [round(float(v), 2) for v in (x, y, w, h)]
            truth["annotations"].append({
                "id": len(truth["annotations"]) + 1, "image_id": number, "category_id": category, "bbox": box,
                "area": round(float(w * h * rng.uniform(0.5, 1)), 4), "iscrowd": int(rng.random() < crowd)})
            for _ in range(int(rng.integers(0, found + 1))):
                shake = rng.normal(0, 0.12, 4) * [w, h, w, h]
                wrong = ids[int(rng.integers(classes))]
                say(category if rng.random() < 0.8 else wrong, np.maximum(np.array(box) + shake, [-9, -9, 1, 1]))
        for _ in range(int(rng.integers(0, noise + 1))):
            say(ids[int(rng.integers(classes))], [*rng.uniform(0, 300, 2), *rng.uniform(1, 300, 2)])
    return truth, detections


def pycocotools(truth, detections):
    """All twelve numbers, and those of each class."""
    with contextlib.redirect_stdout(io.StringIO()):
        ground = COCO()
        ground.dataset = json.loads(json.dumps(truth))
        ground.createIndex()
        results = COCO()
        results.dataset = {"images": truth["images"], "categories": truth["categories"], "annotations": []}
        results.createIndex()
        if detections:
            results = ground.loadRes(json.loads(json.dumps(detections)))
        counted = COCOeval(ground, results, "bbox")
        counted.evaluate()
        counted.accumulate()
        counted.summarize()
    known = lambda v: None if v == -1 else float(v)
    mean = lambda values: known(np.mean(values[values > -1]) if (values > -1).any() else -1)
    numbers = dict(zip(KEYS, map(known, counted.stats)))
    precision, recall = counted.eval["precision"], counted.eval["recall"]
    names = {c["id"]: c["name"] for c in truth["categories"]}
    numbers["classes"] = [{
        "name": names[category], "AP": mean(precision[:, :, k, 0, 2]), "AP50": mean(precision[0, :, k, 0, 2]),
        "AR100": mean(recall[:, k, 0, 2])} for k, category in enumerate(counted.params.catIds)]
    return numbers


def check_score(program, folder, name, truth, detections):
    folder.mkdir()
    paths = {}
    for key, value in {"truth": truth, "detections": detections}.items():
        paths[key] = folder / f"{key}.json"
        paths[key].write_text(json.dumps(value))
    out = folder / "metrics.json"
    run(program, "score", "--detections", paths["detections"], "--ground-truth-json", paths["truth"], "--json", out)
    found, expected = json.loads(out.read_text()), pycocotools(truth, detections)
    for key in KEYS:
        assert found[key] == expected[key], (name, key, found[key], expected[key])
    assert len(found["classes"]) == len(expected["classes"])
    for one, other in zip(found["classes"], expected["classes"]):
        for key, value in other.items():
            # Sums of a class are not in NumPy's order.
            same = one[key] == value or abs(one[key] - value) < 1e-12
            assert same, (name, other["name"], key, one[key], value)
    print(f"{name}: {len(truth['images'])} images, {len(truth['annotations'])} objects, {len(detections)} "
          f"detections: all twelve numbers equal pycocotools' to the last bit, AP {expected['AP']}")


def write_vector(folder):
    truth, detections = draw(**VECTOR)
    folder.mkdir(parents=True, exist_ok=True)
    for key, value in {"truth": truth, "detections": detections, "expected": pycocotools(truth, detections)}.items():
        text = json.dumps(value, separators=(",", ":"))
        text = text.replace("},{", "},\n{")
        (folder / f"{key}.json").write_text(text + "\n")
        print(f"{folder / key}.json: {len(text)} bytes")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
