"""The palette of the report: how far its colours lie apart for people who see red, green or blue badly, and their contrast."""

import itertools
import math
import re

# Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(color):
    out = []
    for i in (1, 3, 5):
        c = int(color[i:i + 2], 16) / 255
        out.append(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    return out


def contrast(a, b):
    light = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(a), linear(b))), reverse=True)
    return (light[0] + 0.05) / (light[1] + 0.05)


def lab(color, vision):
    rgb = linear(color)
    r, g, b = (max(0.0, min(1.0, sum(m * v for m, v in zip(row, rgb)))) for row in VISION[vision])
    f = lambda t: t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116  # noqa: E731
    x, y, z = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(p, q):
    """CIEDE2000 of two colours in Lab."""
    (l1, a1, b1), (l2, a2, b2) = p, q
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 1.5 - 0.5 * math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7))
    a1, a2 = a1 * g, a2 * g
    c1, c2, h1, h2 = math.hypot(a1, b1), math.hypot(a2, b2), math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dh = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    middle = h1 + h2 if not c1 * c2 else (h1 + dh / 2) % 360
    lm, cm, big = (l1 + l2) / 2, (c1 + c2) / 2, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh / 2))
    t = 1 - 0.17 * math.cos(math.radians(middle - 30)) + 0.24 * math.cos(math.radians(2 * middle)) + 0.32 * math.cos(math.radians(3 * middle + 6)) - 0.2 * math.cos(math.radians(4 * middle - 63))
    sl, sc, sh = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2), 1 + 0.045 * cm, 1 + 0.015 * cm * t
    turn = -2 * math.sqrt(cm ** 7 / (cm ** 7 + 25 ** 7)) * math.sin(math.radians(60 * math.exp(-(((middle - 275) / 25) ** 2))))
    return math.sqrt(((l2 - l1) / sl) ** 2 + ((c2 - c1) / sc) ** 2 + (big / sh) ** 2 + turn * (c2 - c1) / sc * big / sh)


def palettes(style):
    """{theme: {name: #rrggbb}} of style.css."""
    return {theme: dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", re.search(selector + r" \{(.*?)\n\}", style, re.S)[1])) for theme, selector in (("light", ":root"), ("dark", r':root\[data-theme="dark"\]'))}


def check_palette(check, style):
    # Pairs that Sharma, Wu and Dalal 2005 publish with their difference.
    for p, q, known in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644), ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373)):
        check.that(abs(difference(p, q) - known) < 1e-4, f"CIEDE2000 of {p} and {q}: {difference(p, q)}, published {known}")
    for theme, colors in palettes(style).items():
        data = {k: colors[k] for k in ("c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7")}
        for name, color in data.items():
            check.that(contrast(color, colors["back"]) >= 3, f"{theme}: --{name} has a contrast of {contrast(color, colors['back']):.2f} on the background")
        for (a, x), (b, y) in itertools.combinations(data.items(), 2):
            for vision in VISION:
                apart = difference(lab(x, vision), lab(y, vision))
                check.that(apart >= 11, f"{theme}, {vision}: --{a} and --{b} differ by {apart:.1f}")
        for text in ("ink", "faint", "text", "link"):
            check.that(contrast(colors[text], colors["back"]) >= 4.5, f"{theme}: --{text} has a contrast of {contrast(colors[text], colors['back']):.2f}")
        for text in ("ink", "faint", "text"):
            check.that(contrast(colors[text], colors["heat"]) >= 4.5, f"{theme}: --{text} on the hottest line has a contrast of {contrast(colors[text], colors['heat']):.2f}")
