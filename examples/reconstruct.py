"""Filtered back projection of a phantom, in NumPy. The slow line is the one that smears the views back, pixel by pixel."""
import numpy as np

SIZE, VIEWS = 96, 120
angles = np.linspace(0, np.pi, VIEWS, endpoint=False)
x, y = np.meshgrid(*[np.arange(SIZE) - SIZE / 2 + 0.5] * 2)
phantom = ((x / 38) ** 2 + (y / 30) ** 2 < 1) * 1.0 - 0.5 * ((x - 12) ** 2 + y**2 < 64)


def project(image):
    views = np.zeros((VIEWS, SIZE))
    for v, a in enumerate(angles):
        at = np.clip(x * np.cos(a) + y * np.sin(a) + SIZE / 2, 0, SIZE - 1).astype(int)
        views[v] = np.bincount(at.ravel(), image.ravel(), SIZE)
    return views


def ramp(views):
    return np.fft.ifft(np.fft.fft(views, axis=1) * np.abs(np.fft.fftfreq(SIZE)), axis=1).real


def back_project(views):
    image = np.zeros((SIZE, SIZE))
    for v, a in enumerate(angles):
        c, s = np.cos(a), np.sin(a)
        for i in range(SIZE):
            for j in range(SIZE):
                image[i, j] += views[v, int(x[i, j] * c + y[i, j] * s + SIZE / 2) % SIZE]  # slow
    return image * np.pi / VIEWS


image = back_project(ramp(project(phantom)))
print(f"centre {image[SIZE // 2, SIZE // 2]:.2f}, hole {image[SIZE // 2, SIZE // 2 + 12]:.2f}")
