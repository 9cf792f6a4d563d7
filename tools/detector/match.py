"""Which place answers for which object, and what a wrong answer costs."""

import torch
import torch.nn.functional as F


def overlap(a, b, generalised=False):
    """Intersection over union of boxes (generalised: less the hull's empty share)."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = lambda box: (box[..., 2:] - box[..., :2]).clamp(min=0).prod(-1)
    union = area(a) + area(b) - shared + 1e-7
    iou = shared / union
    if not generalised:
        return iou
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1)
    return iou - (hull - union) / (hull + 1e-7)


@torch.no_grad()
def fitness(kinds, corners, truth, classes, points, strides):
    """(N, objects, places): how well a place would answer for an object; -1 where it
    may not. A place may if it is near the object's middle."""
    iou = overlap(truth[:, :, None], corners[:, None])
    there = classes >= 0
    wanted = classes.clamp(min=0)[:, None].expand(-1, kinds.shape[1], -1)
    score = kinds.sigmoid().gather(2, wanted).transpose(1, 2)
    middle, half = (truth[..., :2] + truth[..., 2:]) / 2, (truth[..., 2:] - truth[..., :2]) / 2
    away = (points - middle[:, :, None]).abs()
    near = (away < torch.maximum(0.35 * half[:, :, None], 1.2 * strides)).all(-1)
    # A floor, so that the first places are chosen by where they are.
    value = (score + 0.01) ** 0.5 * (iou + 0.01) ** 2
    return torch.where(near & there[..., None], value, -1.0), iou


@torch.no_grad()
def several(value, count):
    """Of each object's `count` best places: the object of each place, or -1."""
    best, at = value.topk(count, 2)
    chosen = torch.full_like(value, -1.0).scatter(2, at, best)
    value, owner = chosen.max(1)
    return torch.where(value > 0, owner, -1)


@torch.no_grad()
def single(value):
    """One place an object, the best that no better fit takes."""
    n, objects, places = value.shape
    owner = torch.full((n, places), -1, device=value.device)
    left = value.clone()
    for _ in range(3):
        best, at = left.max(2)
        chosen = torch.full_like(left, -1.0).scatter(2, at[..., None], best[..., None])
        taken, by = chosen.max(1)
        owner = torch.where(taken > 0, by, owner)
        done = torch.zeros(n, objects + 1, dtype=torch.bool, device=value.device)
        done.scatter_(1, torch.where(taken > 0, by, objects), True)
        left = left.masked_fill(done[:, :-1, None], -1.0).masked_fill((owner >= 0)[:, None], -1.0)
    return owner


def loss(answer, truth, classes, points, strides, count):
    """Of one head. Scores learn how well the box fits, so that they rank by it."""
    from .net import boxes

    kinds, sides = answer
    corners = boxes(sides, points, strides)
    value, iou = fitness(kinds, corners, truth, classes, points, strides)
    owner = single(value) if count == 1 else several(value, count)
    mine = owner >= 0
    index = owner.clamp(min=0)
    wanted = truth.gather(1, index[..., None].expand(-1, -1, 4))
    kind = classes.gather(1, index).clamp(min=0)
    fit = iou.gather(1, index[:, None])[:, 0].clamp(min=0.05) * mine
    target = torch.zeros_like(kinds).scatter(2, kind[..., None], fit[..., None])
    weight = torch.where(target > 0, target, 0.75 * kinds.detach().sigmoid() ** 2)
    scores = (F.binary_cross_entropy_with_logits(kinds, target, reduction="none") * weight).sum()
    total = fit.sum().clamp(min=1.0)
    place = ((1 - overlap(corners, wanted, True)) * mine).sum() / mine.sum().clamp(min=1)
    return scores / total + 2.0 * place
