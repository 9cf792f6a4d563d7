"""Measures Ultralytics' own validation loader: image files to float batches.

Its detection validator's dataset and data loader (mode "val", rect=False,
LetterBox to a square), then its `preprocess` (to float, / 255), in the order
that `model.val()` uses them. Labels are made up where there are none: one box an
image, beside the folder of images as Ultralytics wants them.

Needs: pip install ultralytics==8.4.90 (torch 2.9.1, opencv-python 5.0.0.93,
numpy 2.4.6 were used). Nothing is fetched.

    python tools/loader_ultralytics.py --data SET/images --workers 2

prints "ready", then for each line "pass" on its standard input loads everything
twice and prints one JSON object of the second time (the first warms up): images,
seconds, and CPU seconds of this process and its workers. `--passes 3` does three
without being asked. `cargo xtask bench loader` runs it in turn with `yolo26
loader`.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("YOLO_AUTOINSTALL", "False")
os.environ.setdefault("YOLO_OFFLINE", "True")


def cpu_seconds(processes):
    """User and system time of these processes so far."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / tick


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder named images")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--imgsz", type=int, default=640)
    parser.add_argument("--passes", type=int, help="so many, without being asked")
    args = parser.parse_args()

    images = args.data.resolve()
    if images.name != "images":
        sys.exit(f"{images}: the folder must be named images, labels lie beside it")
    labels = images.with_name("labels")
    labels.mkdir(exist_ok=True)
    for image in images.iterdir():
        label = labels / (image.stem + ".txt")
        if not label.exists():
            label.write_text("0 0.5 0.5 0.25 0.25\n")

    import torch
    from ultralytics.cfg import get_cfg
    from ultralytics.models.yolo.detect import DetectionValidator

    config = get_cfg(
        overrides={
            "task": "detect",
            "mode": "val",
            "imgsz": args.imgsz,
            "batch": args.batch,
            "workers": args.workers,
            "rect": False,
            "plots": False,
            "save": False,
            "verbose": False,
        }
    )
    validator = DetectionValidator(args=config, save_dir=images.parent)
    validator.data = {
        "path": str(images.parent),
        "val": str(images),
        "names": {0: "thing"},
        "nc": 1,
        "channels": 3,
    }
    validator.stride = 32
    validator.device = torch.device("cpu")
    loader = validator.get_dataloader(str(images), args.batch)
    workers = [worker.pid for worker in getattr(loader.iterator, "_workers", [])]
    if len(workers) != args.workers:
        print(f"asked for {args.workers} workers, it made {len(workers)}", file=sys.stderr)

    def everything():
        count = 0
        for batch in loader:
            batch = validator.preprocess(batch)
            count += len(batch["img"])
            shape, dtype = tuple(batch["img"].shape[1:]), batch["img"].dtype
        assert shape == (3, args.imgsz, args.imgsz) and dtype == torch.float32
        return count

    def measured():
        everything()
        processes = [os.getpid(), *workers]
        cpu, start = cpu_seconds(processes), time.perf_counter()
        count = everything()
        seconds = time.perf_counter() - start
        cpu = cpu_seconds(processes) - cpu
        result = {"images": count, "seconds": seconds, "cpu_s": cpu, "workers": len(workers)}
        print(json.dumps(result), flush=True)

    if args.passes:
        for _ in range(args.passes):
            measured()
        return
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "pass":
            measured()


if __name__ == "__main__":
    main()
