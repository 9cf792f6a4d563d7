#!/usr/bin/env python3
"""Makes the right values for the tests of the yolo26 package's preprocessing:
a few tiny images, what OpenCV reads in them, and where and how Ultralytics puts
them into a model's input.

    YOLO_OFFLINE=True python tools/preprocess_vectors.py

writes examples/yolo26/src/preprocess/vectors/. Needs, from pip:

    ultralytics==8.4.90 opencv-python==5.0.0.93 pillow==13.0.0 numpy==2.4.6 torch==2.9.1

The images are drawn here. In vectors.json are
- images: of each file its size as read, and a hash of its RGB pixels; null where
  OpenCV reads nothing
- inputs: of a file, a mode and a size, hashes of the model's input as f32, f16
  (both planes) and u8 (pixels), made by Ultralytics' own data set and predictor
- boxes: of a size of image, a mode and a size of input, boxes of the input and
  what Ultralytics makes of them in pixels of the image
- levels: hashes of 0 to 255 divided by 255 in f32 and f16
Hashes are FNV-1a of 64 bits, over little-endian values.
"""

import io
import json
import struct
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch
from PIL import Image
from ultralytics.cfg import get_cfg
from ultralytics.data.build import build_yolo_dataset
from ultralytics.data.dataset import YOLODataset
from ultralytics.models.yolo.detect import DetectionPredictor, DetectionValidator
from ultralytics.utils import ops

OUT = Path(__file__).parents[1] / "examples/yolo26/src/preprocess/vectors"
SEED = 26


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def drawing(width, height):
    """Waves, discs and edges: smooth and sharp."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    image = np.stack([127 + 120 * np.sin(x / 7 + c) * np.cos(y / (5 + c)) for c in range(3)], -1)
    for i, colour in enumerate([(250, 20, 30), (10, 200, 60), (240, 240, 20)]):
        inside = (x - width * (0.2 + 0.3 * i)) ** 2 + (y - height * (0.7 - 0.2 * i)) ** 2
        image[inside < (min(width, height) / 5) ** 2] = colour
    return image.clip(0, 255).astype(np.uint8)


def pil(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def jpeg(rgb, *options):
    ok, data = cv2.imencode(".jpg", rgb[:, :, ::-1], list(options))
    assert ok
    return data.tobytes()


def exif(orientation):
    block = Image.Exif()
    block[0x0112] = orientation
    return block


def draw():
    """Files by their names."""
    rgb = drawing(37, 23)
    picture = Image.fromarray(rgb)
    alpha = np.dstack([rgb, np.arange(37 * 23).reshape(23, 37).astype(np.uint8)])
    wide = np.random.default_rng(SEED).integers(0, 65536, (7, 9, 3)).astype(np.uint16)
    quality, sampling = cv2.IMWRITE_JPEG_QUALITY, cv2.IMWRITE_JPEG_SAMPLING_FACTOR
    cmyk = Image.fromarray(np.dstack([rgb, 255 - rgb[:, :, 1] // 3]), "CMYK")
    half = jpeg(drawing(64, 48), quality, 60)
    return {
        "420.jpg": jpeg(rgb, quality, 90),
        "422.jpg": jpeg(rgb, quality, 75, sampling, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422),
        "440-restarts.jpg": jpeg(
            rgb, quality, 75, sampling, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440, cv2.IMWRITE_JPEG_RST_INTERVAL, 2
        ),
        "444-progressive.jpg": pil(picture, "JPEG", quality=80, subsampling=0, progressive=True),
        "420-progressive.jpg": pil(picture, "JPEG", quality=50, subsampling=2, progressive=True),
        "grey.jpg": pil(picture.convert("L"), "JPEG", quality=80),
        "cmyk.jpg": pil(cmyk, "JPEG", quality=80),
        "half.jpg": half,
        "cut.jpg": half[: len(half) // 2],
        "dot.jpg": jpeg(drawing(1, 1)),
        "hair.jpg": jpeg(drawing(2, 150), quality, 80),
        # The tests put other orientations in its place.
        "turned.jpg": pil(picture, "JPEG", quality=85, exif=exif(1)),
        "turned.png": pil(picture.quantize(30), "PNG", exif=exif(6), optimize=True),
        "alpha.png": pil(Image.fromarray(alpha), "PNG", optimize=True),
        "grey-alpha.png": pil(Image.fromarray(alpha).convert("LA"), "PNG", optimize=True),
        "palette.png": pil(picture.quantize(9), "PNG", transparency=2, optimize=True),
        "16-bit.png": cv2.imencode(".png", wide)[1].tobytes(),
        "16-bit-grey.png": cv2.imencode(".png", wide[:, :, 0])[1].tobytes(),
        "1-bit.png": pil(picture.convert("1"), "PNG"),
        "lossy.webp": pil(picture, "WEBP", quality=60),
        "lossless.webp": pil(Image.fromarray(alpha).quantize(30).convert("RGBA"), "WEBP", lossless=True, exact=True),
        "palette.bmp": pil(picture.resize((9, 7)).quantize(9), "BMP"),
        "animation.gif": pil(picture.resize((9, 7)), "GIF"),
    }


def settings(size, quantize=None):
    return get_cfg(overrides={"imgsz": size, "quantize": quantize, "task": "detect", "rect": False, "save": False})


class Val:
    """What validation makes of the images of a folder."""

    def __init__(self, folder, size):
        data = {"names": {0: "thing"}, "channels": 3, "nc": 1}
        self.images = build_yolo_dataset(settings(size), str(folder), 1, data, mode="val", rect=False)
        self.size = size
        self.index = {Path(f).name: i for i, f in enumerate(self.images.im_files)}

    def batch(self, name):
        return YOLODataset.collate_fn([self.images[self.index[name]]])

    def validator(self, quantize=None):
        validator = DetectionValidator(args=vars(settings(self.size, quantize)))
        validator.device = torch.device("cpu")
        return validator

    def inputs(self, name):
        for quantize in (None, 16):
            yield self.validator(quantize).preprocess(self.batch(name))["img"]

    def boxes(self, name, boxes):
        validator = self.validator()
        of_image = validator._prepare_batch(0, validator.preprocess(self.batch(name)))
        return validator.scale_preds({"bboxes": boxes}, of_image)["bboxes"]


class Predict:
    """What prediction makes of an image."""

    def __init__(self, size, half=False):
        self.predictor = DetectionPredictor(overrides=vars(settings(size)))
        self.predictor.device = torch.device("cpu")
        # An ONNX export of a fixed size.
        self.predictor.model = SimpleNamespace(fp16=half, format="onnx", dynamic=False, stride=32)
        self.predictor.imgsz = [size, size]

    def input(self, image):
        return self.predictor.preprocess([image])

    def boxes(self, image, boxes):
        return ops.scale_boxes(self.input(image).shape[2:], boxes.clone(), image.shape)


def hashes(floats, halves):
    """Of a batch of one image; the u8 pixels are those of the f32 planes."""
    assert floats.dtype == torch.float32 and halves.dtype == torch.float16
    bytes_ = (floats * 255).round().to(torch.uint8)
    assert torch.equal(bytes_.float() / 255, floats)
    return {
        "f32": fnv(floats.numpy().tobytes()),
        "f16": fnv(halves.numpy().tobytes()),
        "u8": fnv(bytes_[0].permute(1, 2, 0).contiguous().numpy().tobytes()),
    }


def some_boxes(rng, size, count):
    corner = rng.uniform(-0.05 * size, 0.9 * size, (count, 2))
    boxes = np.hstack([corner, corner + rng.uniform(1, 0.4 * size, (count, 2))])
    # Eighths: exact, and short as text.
    return torch.tensor((boxes * 8).round() / 8, dtype=torch.float32)


def main():
    rng = np.random.default_rng(SEED)
    files = draw()
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    images, inputs, boxes = {}, [], []
    for name, data in files.items():
        (OUT / name).write_bytes(data)
        versions = {name: data}
        if name == "turned.jpg":
            tag = data.index(struct.pack(">HHI", 0x0112, 3, 1)) + 8
            versions = {f"turned.jpg {o}": data[:tag] + struct.pack(">H", o) + data[tag + 2 :] for o in range(10)}
        for version, data in versions.items():
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            images[version] = None
            if image is not None and name not in ("cut.jpg", "animation.gif"):
                height, width, _ = image.shape
                images[version] = {"size": [width, height], "rgb": fnv(image[:, :, ::-1].tobytes())}

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("420.jpg", "half.jpg", "16-bit-grey.png", "turned.png"):
            # Validation takes no side under ten pixels.
            image = cv2.imdecode(np.frombuffer(files[name], np.uint8), cv2.IMREAD_COLOR)
            if min(image.shape[:2]) >= 10:
                (folder / name).write_bytes(files[name])
            for size in (32, 64, 51):
                made = {"predict": hashes(Predict(size).input(image), Predict(size, half=True).input(image))}
                if (folder / name).exists():
                    made["val"] = hashes(*Val(folder, size).inputs(name))
                inputs += [{"file": name, "mode": mode, "size": size, **of} for mode, of in made.items()]

        for i in range(30):
            width, height = (int(side) for side in np.exp(rng.uniform(np.log(12), np.log(900), 2)))
            size = int(rng.choice([64, 96, 320, 640]))
            image = np.zeros((height, width, 3), np.uint8)
            name = f"size{i}.png"
            cv2.imwrite(str(folder / name), image)
            before = some_boxes(rng, size, 2)
            ways = {"val": lambda: Val(folder, size).boxes(name, before)}
            # Prediction cannot scale a side to nothing.
            if round(min(width, height) * min(size / width, size / height)) > 0:
                ways["predict"] = lambda: Predict(size).boxes(image, before)
            for mode, way in ways.items():
                after = way()
                boxes.append(
                    {
                        "image": [width, height],
                        "mode": mode,
                        "size": size,
                        "input": before.tolist(),
                        "original": [[round(side, 4) for side in box] for box in after.tolist()],
                    }
                )
            (folder / name).unlink()

    levels = torch.arange(256, dtype=torch.uint8)
    made = {
        "images": images,
        "inputs": inputs,
        "boxes": boxes,
        "levels": {
            "f32": fnv((levels.float() / 255).numpy().tobytes()),
            "f16": fnv((levels.half() / 255).numpy().tobytes()),
        },
    }
    lines = []
    for key, value in made.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f' "{key}": [\n{rows}\n ]')
        else:
            rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f' "{key}": {{\n{rows}\n }}')
    (OUT / "vectors.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(files)} files, {len(inputs)} inputs, {len(boxes)} sets of boxes", file=sys.stderr)


if __name__ == "__main__":
    main()
