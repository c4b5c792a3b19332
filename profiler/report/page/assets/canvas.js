// What flame graph and timeline share: a canvas of device pixels, colours of the theme, keys and dragging.

function themed() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue("--" + name).trim();
  return { back: get("back"), ink: get("ink"), faint: get("faint"), line: get("line"), raised: get("raised"), mark: get("mark"), focus: get("focus"),
    k: Array.from({ length: 8 }, (_, i) => get("c" + i)) };
}

// Sizes the canvas to its place; 32767 px is the most that browsers draw.
function fit(canvas, height) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 600;
  const h = Math.min(height, Math.floor(32767 / ratio));
  canvas.style.height = h + "px";
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio);
  const context = canvas.getContext("2d", { alpha: false });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height: h };
}

const textHash = (text) => { let h = 7; for (let i = 0; i < text.length; i++) h = (h * 31 + text.charCodeAt(i)) | 0; return h >>> 0; };

// One redraw per frame of the screen, however many events ask for it.
function painter(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
}

// Black or white, whichever reads better on #rrggbb.
function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
}
