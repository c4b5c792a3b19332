"""scikit-image: Radon transform and its inverse."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    from skimage.transform import iradon, radon  # truth: import

image = np.zeros((256, 256))
image[80:150, 90:160] = 1
angles = np.linspace(0, 180, 180, endpoint=False)
with phase("radon"):
    sinogram = radon(image, theta=angles)  # truth: radon
with phase("iradon"):
    for i in range(30):
        volume = iradon(sinogram, theta=angles)  # truth: iradon
