"""Smooths noisy spectra with a Python loop of its own, takes a median background from some, and fits peaks to some."""
import numpy as np
from scipy.ndimage import median_filter
from scipy.optimize import curve_fit

energy = np.linspace(0, 10, 600)


def moving_average(spectrum, width=9):
    out = np.empty_like(spectrum)
    for i in range(len(spectrum)):
        total = 0.0
        for v in spectrum[max(0, i - width):i + 1]:
            total += v
        out[i] = total / min(width + 1, i + 1)
    return out


def peak(energy, height, position, width):
    return height * np.exp(-((energy - position) / width) ** 2)


def fit(spectrum):
    guess = (spectrum.max(), energy[spectrum.argmax()], 1.0)
    return curve_fit(peak, energy, spectrum, guess)[0]


random = np.random.default_rng(3)
positions = random.uniform(2, 8, 1600)
spectra = peak(energy, 5, positions[:, None], 0.8) + random.normal(0, 0.2, (len(positions), len(energy)))
smooth = np.array([moving_average(s) for s in spectra])
smooth -= median_filter(smooth[:200], size=(9, 41)).mean(axis=0)
found = np.array([fit(s) for s in smooth[:400]])
print(f"mean error {np.abs(found[:, 1] - positions[:400]).mean():.3f}")
