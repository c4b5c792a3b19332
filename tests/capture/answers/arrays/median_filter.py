"""scipy.ndimage: a median filter takes most, a Gaussian little."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    from scipy import ndimage  # truth: import


def denoise(image):
    with phase("gauss"):
        soft = ndimage.gaussian_filter(image, 2)  # truth: gauss
    with phase("median"):
        return ndimage.median_filter(soft, size=7)  # truth: median


image = np.random.default_rng(0).random((512, 512))
for _ in range(6):
    image = denoise(image)
print(image.mean())
