"""Segments a picture of many coins: total variation, threshold, watershed, properties of each region."""
import numpy as np
from skimage import filters, measure, morphology, restoration, segmentation

y, x = np.mgrid[:900, :1100]
picture = 0.2 + 0.1 * np.random.default_rng(1).random(x.shape)
for cy in range(60, 900, 110):
    for cx in range(60, 1100, 110):
        picture[(y - cy) ** 2 + (x - cx) ** 2 < (38 + (cx + cy) % 9) ** 2] += 0.5


def clean(picture):
    return restoration.denoise_tv_chambolle(picture, weight=0.1, max_num_iter=30)


def split(picture):
    mask = picture > filters.threshold_otsu(picture)
    seeds = measure.label(morphology.erosion(mask, morphology.disk(5)))
    return segmentation.watershed(-picture, seeds, mask=mask)


def describe(labels, picture):
    return [(r.label, r.area, r.mean_intensity, r.eccentricity) for r in measure.regionprops(labels, picture)]


for _ in range(4):
    smooth = clean(picture)
    coins = describe(split(smooth), smooth)
print(len(coins), "coins")
