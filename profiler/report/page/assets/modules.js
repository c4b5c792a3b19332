// The module that a frame belongs to, and the module's tint: own code is the warmest, the interpreter and the C library are grey.
import { hueColour } from "./canvas.js";
import { list } from "./data.js";
import { IMPORTS } from "./stacks.js";
import { COLOUR } from "./state.js";
import { el, plain } from "./ui.js";

export const OWN = "own code", PYTHON = "Python", SYSTEM = "C library and kernel", DEVICE = "GPU", CXX = "C++ library";
const HUES = [212, 158, 268, 336, 52, 190, 100]; // neighbours in rank are far apart
const shortModule = (path) => plain(path).split("/").pop().replace(/\.cpython-.*$|\.abi3\.so.*$|\.so[.\d]*.*$/, "").replace(/-[0-9a-f]{8}$/, "").replace(/^lib(?=.)/, "");

function moduleName(frames, own, f) {
  if (f === IMPORTS) return PYTHON;
  if (f < 0 || frames.kind[f] === "thread" || frames.kind[f] === "small") return "";
  if (["kernel", "copy", "set"].includes(frames.kind[f])) return DEVICE;
  const file = frames.file[f] ?? "", module = frames.module?.[f] ?? "";
  if (own[f]) return OWN;
  if (module.includes("libtomoprof_capture")) return SYSTEM; // the recorder
  const packaged = /(?:site|dist)-packages\/([^/]+)/.exec(file) ?? /(?:site|dist)-packages\/([^/]+)/.exec(module);
  if (packaged) return plain(packaged[1]).replace(/\.py$|\.libs$/, "");
  if (frames.kind[f] === "python" || /(^|\/)(lib)?python3?[\d.]*(\.so[\d.]*)?$/.test(module) || /\/Python-3/.test(file)) return PYTHON;
  if (/(^|\/)(libc|ld-linux|ld|libpthread|libm|libstdc\+\+|libgcc_s)[-.]|^\[/.test(module) || /nptl|sysdeps|glibc/.test(file)) return SYSTEM;
  if (/(^|\/)include\/c\+\+\//.test(file)) return CXX; // its templates lie in the program itself
  return module ? shortModule(module) : file.split("/").slice(-2)[0] || "native code";
}

// {of(frame): name of its module, colour(theme, frame), legend(): the modules that took most}
export function moduleTints(profile) {
  const { frames, stacks } = profile, own = frames.file.map((f) => !!profile.files?.[f]?.user), names = frames.function.map((_, i) => moduleName(frames, own, i)), sums = new Map();
  const below = Float64Array.from(list(stacks.cpu_ns)), nameAt = (i) => (i === null || i < 0 ? "" : names[stacks.frame[i]] ?? "");
  for (let i = below.length - 1; i >= 0; i--) { // with callees, counted where a stack enters the module; parents come before their children
    const p = stacks.parent[i];
    if (p !== null && p >= 0) below[p] += below[i];
    if (below[i] > 0 && nameAt(i) !== nameAt(p)) sums.set(nameAt(i), (sums.get(nameAt(i)) || 0) + below[i]);
  }
  const ranked = [...sums].filter(([name]) => ![OWN, PYTHON, SYSTEM, DEVICE, ""].includes(name)).filter(([, ns], _, all) => ns >= 0.01 * all.reduce((a, [, v]) => a + v, 0)).sort((a, b) => b[1] - a[1]).slice(0, HUES.length).map(([name]) => name), hue = new Map(ranked.map((name, i) => [name, HUES[i]]));
  const of = (f) => (f < 0 ? moduleName(frames, own, f) : names[f]);
  const tints = [new Map(), new Map()]; // light, dark
  const tint = (dark, name) => { const of_ = tints[dark ? 1 : 0]; if (!of_.has(name)) of_.set(name, mixed(dark, name)); return of_.get(name); };
  const mixed = (dark, name) => (name === OWN ? (dark ? "#d07a2d" : "#f4a556") : hue.has(name) ? hueColour(hue.get(name), dark ? 32 : 48, dark ? 40 : 78) : name === PYTHON ? (dark ? "#5b626d" : "#c9cdd4") : name === SYSTEM ? (dark ? "#474d57" : "#dcdfe4") : dark ? "#3a424e" : "#e6e2d8");
  return {
    of,
    colour: (theme, f) => (f === -1 || of(f) === "" ? theme.raised : of(f) === DEVICE ? theme.k[frames.kind[f] === "kernel" ? COLOUR.kernel : COLOUR.copy] : tint(theme.dark, of(f))),
    legend: () => el("ul", { class: "legend tints", "aria-label": "Modules" }, [OWN, ...ranked.slice(0, 5), PYTHON, SYSTEM].filter((name) => sums.has(name) || (name === OWN && own.includes(true))).map((name) => {
      const swatch = el("i"), paint = () => { swatch.style.background = tint(document.documentElement.dataset.theme === "dark", name); };
      paint();
      document.addEventListener("themechange", paint);
      return el("li", {}, swatch, name);
    })),
  };
}
