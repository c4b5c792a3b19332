// What flame graph and timeline share: a canvas of device pixels, colours of the theme, keys and dragging.

let theme = null; // until it changes
document.addEventListener("themechange", () => { theme = null; });
export const themed = () => (theme ??= readTheme());
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue("--" + name).trim();
  return { back: get("back"), ink: get("ink"), faint: get("faint"), line: get("line"), raised: get("raised"), mark: get("mark"), focus: get("focus"), dark: document.documentElement.dataset.theme === "dark",
    k: Array.from({ length: 10 }, (_, i) => get("c" + i)) };
}

// Sizes the canvas to its place; 32767 px is the most that browsers draw.
export function fit(canvas, height) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 600;
  const h = Math.min(height, Math.floor(32767 / ratio));
  canvas.style.height = h + "px";
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio);
  const context = canvas.getContext("2d", { alpha: false });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height: h };
}

// One redraw per frame of the screen, however many events ask for it. Paper has no frames: main.js draws all of them before it prints.
export const painters = [];
const waiting = new Set(); // redraws for the next frame
export function painter(draw) {
  painters.push(draw);
  return () => {
    if (!waiting.size) requestAnimationFrame(paintNow);
    waiting.add(draw);
  };
}
// Draws what waits for a frame: for a caller that is within one.
export function paintNow() {
  const now = [...waiting];
  waiting.clear();
  for (const draw of now) draw();
}

const channels = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
// #rrggbb between two, `part` of the way.
export const mix = (from, to, part) => { const a = channels(from), b = channels(to); return "#" + a.map((v, i) => Math.round(v + (b[i] - v) * part).toString(16).padStart(2, "0")).join(""); };

// Black or white, whichever has the larger contrast on #rrggbb (WCAG 2.2).
const inks = new Map();
export function inkOn(color) {
  if (!inks.has(color)) inks.set(color, contrastOn(color));
  return inks.get(color);
}
function contrastOn(color) {
  const [r, g, b] = channels(color).map((v) => { const c = v / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff";
}

// #rrggbb of a hue in degrees, saturation and lightness in percent.
export function hueColour(hue, saturation, lightness) {
  const s = saturation / 100, l = lightness / 100, part = (n) => { const k = (n + hue / 30) % 12; return l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)); };
  return "#" + [0, 8, 4].map((n) => Math.round(255 * part(n)).toString(16).padStart(2, "0")).join("");
}

// Takes down as SVG what is drawn: the part of a canvas's context that the flame graph uses.
export function svgRecorder() {
  const out = [], round = (v) => Number(v.toFixed(2)), escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  return {
    fillStyle: "#000", fillRect(x, y, w, h) { out.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${this.fillStyle}"/>`); },
    fillText(text, x, y) { out.push(`<text x="${round(x)}" y="${round(y + 4)}" fill="${this.fillStyle}">${escaped(text)}</text>`); },
    strokeRect() {}, setLineDash() {}, // the ring of the keys is not saved
    text: (width, height) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">${out.join("\n")}</svg>\n`,
  };
}

export const saveSvg = (text, name) => saveAs("data:image/svg+xml;charset=utf-8," + encodeURIComponent(text), `${name}.svg`);

// Saves what a canvas shows. The name of the file begins with that of the page.
export const savePicture = (canvas, name) => saveAs(canvas.toDataURL("image/png"), `${name}.png`);

function saveAs(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = `${document.title.replace(/[^\w.-]+/g, "-").slice(0, 60)}-${name}`;
  link.click();
}
