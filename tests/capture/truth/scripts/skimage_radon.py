"""scikit-image: Radon transform, its inverse and total-variation denoising."""

import numpy as np

from truth import phase

with phase("import"):
    from skimage.restoration import denoise_tv_chambolle  # inclusive: import
    from skimage.transform import iradon, radon, resize  # inclusive: import

n = 160
image = (np.add.outer((np.arange(n) - n / 2) ** 2, (np.arange(n) - n / 2) ** 2) < (n / 3) ** 2).astype(float)
theta = np.linspace(0, 180, 120, False)
with phase("radon"):
    for i in range(3):
        sino = radon(image, theta, circle=False)  # inclusive: radon
with phase("iradon"):
    for i in range(8):
        back = iradon(sino, theta, circle=False)  # inclusive: iradon
with phase("denoise"):
    for i in range(8):
        smooth = denoise_tv_chambolle(back, weight=0.1, max_num_iter=150)  # inclusive: denoise
with phase("resize"):
    for i in range(10):
        large = resize(smooth, (700, 700), order=3)  # inclusive: resize
print(f"{sino.sum():.3f} {back.mean():.5f} {large.mean():.5f}")
