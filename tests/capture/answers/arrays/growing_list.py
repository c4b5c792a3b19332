"""Keeps each frame in a list, so that memory grows and each frame is made of fresh pages."""

import numpy as np
from truth import phase

kept = []


def remember(frame):
    with phase("keep"):
        kept.append(frame.astype(np.float64))  # truth: keep


def mean(frame):
    with phase("mean"):
        return float(frame.mean())  # truth: mean


frame = np.zeros((1024, 1024), np.uint8)
print(sum(mean(remember(frame) or frame) for _ in range(90)))
