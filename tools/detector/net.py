"""The network: a small convolutional trunk, two strides, two heads.

`one` is trained one object to one place, so its rows need no suppression; it
alone is exported. `many` (several places an object) only helps training.
"""

import torch
from torch import nn

STRIDES = (8, 16)
ROWS = 300  # of the output; fewer places than that are not allowed


def unit(inputs, outputs, kernel, step=1):
    """Convolution, batch norm, ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, step, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03),
        nn.ReLU(inplace=True),
    )


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.squeeze = unit(width, width // 2, 1)
        self.widen = unit(width // 2, width, 3)

    def forward(self, x):
        return x + self.widen(self.squeeze(x))


class Head(nn.Module):
    """Class scores (before the sigmoid) and the logarithms of the four distances
    to the box's sides in strides, at each place of one stride."""

    def __init__(self, width, classes):
        super().__init__()
        self.mix = unit(width, width, 3)
        self.kind = nn.Conv2d(width, classes, 1)
        self.side = nn.Conv2d(width, 4, 1)
        nn.init.constant_(self.kind.bias, -4.5)
        nn.init.constant_(self.side.bias, 0.5)

    def forward(self, x):
        x = self.mix(x)
        return self.kind(x), self.side(x)


class Net(nn.Module):
    def __init__(self, classes, widths=(12, 24, 48, 80, 112), neck=(40, 64)):
        super().__init__()
        a, b, c, d, e = widths
        self.to8 = nn.Sequential(
            unit(3, a, 3, 2), unit(a, b, 3, 2), Residual(b), unit(b, c, 3, 2), Residual(c), Residual(c)
        )
        self.to16 = nn.Sequential(unit(c, d, 3, 2), Residual(d), Residual(d))
        self.to32 = nn.Sequential(unit(d, e, 3, 2), Residual(e))
        fine, coarse = neck
        self.side32 = unit(e, coarse, 1)
        self.side16 = unit(d, coarse, 1)
        self.join16 = unit(coarse, coarse, 3)
        self.down = unit(coarse, fine, 1)
        self.side8 = unit(c, fine, 1)
        self.join8 = unit(fine, fine, 3)
        self.one = nn.ModuleList([Head(fine, classes), Head(coarse, classes)])
        self.many = nn.ModuleList([Head(fine, classes), Head(coarse, classes)])
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")

    def features(self, images):
        x8 = self.to8(images)
        x16 = self.to16(x8)
        x32 = self.to32(x16)
        y16 = self.join16(self.side16(x16) + self.grow(self.side32(x32)))
        y8 = self.join8(self.side8(x8) + self.grow(self.down(y16)))
        return y8, y16

    def forward(self, images):
        features = self.features(images)
        one = flat(head(x) for head, x in zip(self.one, features))
        if not self.training:
            return one
        return one, flat(head(x) for head, x in zip(self.many, features))


def flat(levels):
    """Both strides in one row of places: (N, places, classes), (N, places, 4)."""
    kinds, sides = zip(*levels)
    row = lambda parts: torch.cat([x.flatten(2) for x in parts], 2).transpose(1, 2).float()
    return row(kinds), row(sides)


def places(size, device="cpu"):
    """The middle (x, y) and the stride of each place, in pixels."""
    points, strides = [], []
    for stride in STRIDES:
        at = (torch.arange(size // stride, device=device, dtype=torch.float32) + 0.5) * stride
        y, x = torch.meshgrid(at, at, indexing="ij")
        points.append(torch.stack([x.flatten(), y.flatten()], 1))
        strides.append(torch.full((len(at) ** 2, 1), float(stride), device=device))
    return torch.cat(points), torch.cat(strides)


def boxes(sides, points, strides):
    """x1, y1, x2, y2 in pixels."""
    reach = sides.clamp(max=5.0).exp() * strides
    return torch.cat([points - reach[..., :2], points + reach[..., 2:]], -1)


def rows(kinds, corners):
    """The output's rows: of the best 300 places the best 300 classes, best first. A
    place may answer twice, so a doubtful class costs no object."""
    score = kinds.sigmoid()
    _, at = score.amax(2).topk(ROWS, 1)
    score = score.gather(1, at[..., None].expand(-1, -1, kinds.shape[2]))
    score, pair = score.transpose(1, 2).flatten(1).topk(ROWS, 1)
    kind, at = pair // ROWS, at.gather(1, pair % ROWS)
    corners = corners.gather(1, at[..., None].expand(-1, -1, 4))
    return torch.cat([corners, score[..., None], kind[..., None].float()], 2)
