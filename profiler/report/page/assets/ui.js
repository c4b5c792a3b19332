// Elements, numbers as text, tables, plots. Text enters the page through text nodes alone.

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "css") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Control characters and marks that turn the direction of writing are shown, not obeyed.
export function plain(text) {
  return String(text ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function code(text, limit = 400) {
  const shown = plain(text);
  if (shown.length <= limit) return el("code", {}, shown);
  return el("code", { title: shown.slice(0, 4000) }, shown.slice(0, limit) + "…");
}

export const UNKNOWN = "–"; // not measured
export const known = (x) => typeof x === "number" && Number.isFinite(x);

export function number(x, digits = 3) {
  if (!known(x)) return UNKNOWN;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-3) return x.toExponential(digits - 1);
  return size >= 10 ** (digits - 1) ? Math.round(x).toString() : x.toPrecision(digits);
}

function scaled(x, units) {
  if (!known(x)) return UNKNOWN;
  if (x === 0) return "0";
  for (const [factor, unit] of units) if (Math.abs(x) >= factor) return number(x / factor) + " " + unit;
  const [factor, unit] = units[units.length - 1];
  return number(x / factor) + " " + unit;
}
// A capture that counts samples of unknown length has 1 ns for each.
let samplesOnly = false;
export const countSamples = () => { samplesOnly = true; };
export const cpuName = () => (samplesOnly ? "" : "CPU time");
export const seconds = (x) => (samplesOnly && known(x) ? `${count(x * 1e9)} ${Math.round(x * 1e9) === 1 ? "sample" : "samples"}` : scaled(x, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]));
export const bytes = (x) => (known(x) && Math.abs(x) < 1024 && Number.isInteger(x) ? `${x} B` : scaled(x, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]));
export const megabytes = (x) => (known(x) ? bytes(x * 2 ** 20) : UNKNOWN);
export const count = (x) => (known(x) ? String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ",") : UNKNOWN); // toLocaleString takes 80 ms at its first call
export const percent = (x) => (x > 0 && x < 1e-4 ? "< 0.01 %" : known(x) ? (x * 100 >= 9.95 || x === 0 ? (x * 100).toFixed(0) : (x * 100).toPrecision(2)) + " %" : UNKNOWN);

export const dateText = (t) => plain(t).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/, "$1 $2 UTC");

export function say(text) { document.getElementById("live").textContent = text; }

export function button(label, act, more) { return el("button", { type: "button", class: "button", onclick: act, ...more }, label); }

// A button that stays pressed. act(pressed)
export function toggle(label, pressed, act, hint) {
  const node = button(label, () => {
    const now = node.getAttribute("aria-pressed") !== "true";
    node.setAttribute("aria-pressed", now);
    act(now);
  }, { "aria-pressed": String(!!pressed), title: hint });
  return node;
}

export function choice(label, options, value, act) {
  const select = el("select", { onchange: () => act(select.value) },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", {}, label + " ", select);
}

export function search(label, act) {
  const input = el("input", { type: "search", "aria-label": label, placeholder: label, size: Math.min(Math.max(label.length, 18), 48), oninput: () => act(input.value) });
  return input;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied.");
}

const cell = (column, row) => (column.value ? column.value(row) : row[column.key]);
const cellText = (column, row) => {
  const value = cell(column, row);
  return column.format ? column.format(value, row) : plain(value ?? UNKNOWN);
};

function markdown(columns, rows) {
  const line = (cells) => "| " + cells.map((c) => String(c).replace(/\|/g, "\\|").replace(/\s+/g, " ")).join(" | ") + " |";
  return [line(columns.map((c) => c.title)), line(columns.map((c) => (c.number ? "--:" : "---"))),
    ...rows.map((row) => line(columns.map((c) => cellText(c, row))))].join("\n") + "\n";
}

// columns: {title, key or value(row), format(value, row), number, show(row) -> node, hint, optional: left out where it holds nothing,
// rem: width, minor: left out on narrow screens}
// options: {caption, sort: index or null, up: ascending first, filter: bool, limit, rowClass(row), rowKey(row): data-row, name,
// context(row): stands in the order of the first column alone, bare: without a filter and a button}. The node's reveal(key) shows that row and returns it, or null.
export function table(all, rows, options = {}) {
  const columns = all.filter((c) => !c.optional || rows.some((row) => ![null, undefined, "", 0].includes(cell(c, row))));
  const state = { by: options.sort ?? -1, down: !options.up, text: "", all: false, from: 0 };
  const limit = options.limit ?? 100;
  const body = el("tbody");
  const more = el("p", { class: "tools" });
  const classOf = (column) => [column.number ? "number" : column.kind, column.minor && "minor"].filter(Boolean).join(" ");
  const heads = columns.map((column, i) =>
    el("th", { scope: "col", class: classOf(column) || null, title: column.hint, css: column.rem ? { width: column.rem + "rem" } : null },
      el("button", { type: "button", class: "sort", onclick: () => sortBy(i) }, column.title)));

  function ordered() {
    let list = rows;
    if (options.context && (state.by !== 0 || state.text)) list = list.filter((row) => !options.context(row));
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) {
      list = list.filter((row) => {
        const text = columns.map((c) => cellText(c, row)).join(" ").toLowerCase();
        return words.every((w) => text.includes(w));
      });
    }
    if (state.by >= 0) {
      const column = columns[state.by];
      const rank = (row) => { const v = column.rank ? column.rank(row) : cell(column, row); return v ?? (column.number ? -Infinity : ""); };
      const sign = state.down ? -1 : 1;
      list = [...list].sort((a, b) => {
        const x = rank(a), y = rank(b);
        return sign * (typeof x === "number" && typeof y === "number" ? x - y || 0 : String(x).localeCompare(String(y)));
      });
    }
    return list;
  }
  function draw() {
    const list = ordered();
    const shown = state.all ? list : list.slice(state.from, state.from + limit);
    body.replaceChildren(...shown.map((row) =>
      el("tr", { class: options.rowClass ? options.rowClass(row) : null, "data-row": options.rowKey ? options.rowKey(row) : null }, columns.map((column) => {
        const content = column.show ? column.show(row) : el("bdi", {}, cellText(column, row));
        return el("td", { class: classOf(column) || "text" }, content);
      }))));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== state.by ? "none" : state.down ? "descending" : "ascending"));
    more.replaceChildren(...(list.length > shown.length
      ? [button(`Show all ${count(list.length)} rows`, () => { state.all = true; draw(); }), state.from ? `${count(state.from + 1)} to ${count(state.from + shown.length)} shown` : `${count(shown.length)} shown`]
      : list.length === 0 ? ["No rows."] : []));
  }
  function sortBy(i) {
    state.down = state.by === i ? !state.down : !!columns[i].number;
    state.by = i;
    state.from = 0;
    draw();
    say(`Sorted by ${columns[i].title}, ${state.down ? "descending" : "ascending"}.`);
  }
  function reveal(key) {
    const at = ordered().findIndex((row) => options.rowKey(row) === key);
    if (at < 0) return null;
    if (!state.all && (at < state.from || at >= state.from + limit)) { state.from = Math.max(0, at - Math.floor(limit / 2)); draw(); }
    return [...body.rows].find((row) => row.dataset.row === key);
  }
  draw();
  const name = options.name || options.caption || "table";
  const node = el("div", {},
    !options.bare && el("div", { class: "tools" },
      options.filter !== false && rows.length > 8 && search(`Filter ${name}`, (text) => { state.text = text; state.from = 0; draw(); }),
      button("Copy as Markdown", () => copy(markdown(columns, state.all ? ordered() : ordered().slice(0, limit))), { "aria-label": `Copy as Markdown: ${name}` })),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
      el("table", {}, options.caption && el("caption", {}, options.caption), el("thead", {}, el("tr", {}, heads)), body)),
    more);
  node.reveal = reveal;
  showMore(node.querySelector(".scroll"));
  return node;
}

// A shadow on the side where a table has columns that are not in view.
function showMore(box) {
  const mark = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 12);
  box.addEventListener("scroll", mark, { passive: true });
  if (window.ResizeObserver) new ResizeObserver(mark).observe(box);
}

// parts: [{name, value, k (colour), text}] of `total`
export function stackedBar(label, parts, total) {
  const real = parts.filter((p) => known(p.value) && p.value > 0);
  const sum = total || real.reduce((a, p) => a + p.value, 0);
  if (!sum) return el("p", { class: "note" }, `${label}: nothing was measured.`);
  const words = real.map((p) => `${p.name} ${seconds(p.value)} (${percent(p.value / sum)})`).join(", ");
  return el("div", {},
    el("div", { class: "bar", role: "img", "aria-label": `${label}: ${words}` },
      real.map((p) => el("span", { class: "k" + p.k, css: { width: `${(100 * p.value) / sum}%` }, title: `${p.name}: ${seconds(p.value)}` }))),
    el("ul", { class: "legend" }, real.map((p) => el("li", {}, el("i", { class: "k" + p.k }), `${p.name} ${seconds(p.value)} · ${percent(p.value / sum)}`))));
}

export function cellBar(parts, total, label) {
  return el("span", { class: "cell-bar", role: "img", "aria-label": label },
    parts.map(([value, k]) => known(value) && value > 0 && el("span", { class: "k" + k, css: { width: `${Math.min(100, (100 * value) / total)}%` } })));
}

export function sparkline(values, label) {
  const real = values.filter(known);
  const node = svg("svg", { viewBox: "0 0 80 20", width: 80, height: 20, role: "img", "aria-label": label });
  if (real.length < 2) return node;
  const low = Math.min(...real), high = Math.max(...real);
  const points = values.map((v, i) => known(v) && `${(2 + (76 * i) / (values.length - 1)).toFixed(1)},${(18 - (16 * (v - low)) / (high - low || 1)).toFixed(1)}`);
  node.append(svg("polyline", { points: points.filter(Boolean).join(" "), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
  return node;
}

export const tip = el("div", { class: "tip", hidden: true });
export function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}
export const hideTip = () => { tip.hidden = true; };

export const cut = (text, n) => { const t = plain(text).trim(); return t.length > n ? t.slice(0, n - 1).trim() + "…" : t; };

// The last part of a Python name; parameters of C++ left out.
export const shortName = (name, language) => (language === "python" ? plain(name).split(".").pop() : plain(name).replace(/\((?:[^()]|\([^()]*\))*\)(?: const)?$/, "")).slice(0, 80);

// Moments of an axis of time with their labels, at most `most`: all in one unit, with as many digits as two neighbours need to differ.
export function ticksOf(from, until, most) {
  const rough = (until - from) / most, unit = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough * 0.999), out = [];
  const [size, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([s]) => until >= s) ?? [1, "ns"], digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  for (let k = Math.ceil(from / step - 1e-9); k * step <= until; k++) out.push([k * step, k === 0 ? "0" : `${((k * step) / size).toFixed(digits)} ${name}`]);
  return out;
}
// A span of time with as many digits as its ends need to differ.
export function spanText(from, until) {
  const [size, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([s]) => until >= s) ?? [1, "ns"], digits = Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(Math.max(1e-9, until - from) / size))));
  return `${from > 0 ? (from / size).toFixed(digits) : "0"} to ${(until / size).toFixed(digits)} ${name}`;
}

// Numbers stay with their units on one line.
const unbroken = (text) => text.split(/((?:\d[\d.,]* of )?\d[\d.,]* (?:%|(?:[mµn]?s|[KMGT]?i?B)(?!\w)))/).map((piece, i) => (i % 2 ? el("span", { class: "unbroken" }, piece) : piece));

// Text with the source in back quotes as code.
export const rich = (text) => plain(text).split("`").flatMap((piece, i, all) => (i % 2 && i < all.length - 1 ? el("code", {}, piece) : unbroken(i % 2 ? "`" + piece : piece)));

// A name of Cython: __pyx_pf_4h5py_9_selector_6Reader_2read is h5py._selector.Reader.read. Each part has its length before it, the last one at most a number.
export function cythonName(name) {
  const [, rest] = /^__pyx_(?:pw|pf|f)_(\d.*)$/.exec(name) ?? [];
  if (!rest) return name;
  const out = [];
  let at = rest;
  for (let m; (m = /^(\d+)/.exec(at)) && at[m[0].length + +m[0]] === "_"; at = at.slice(m[0].length + +m[0] + 1)) out.push(at.slice(m[0].length, m[0].length + +m[0]));
  return [...out, at.replace(/^\d+/, "")].filter(Boolean).join(".");
}

// A name of C++ that fits: what stands between < and > becomes an ellipsis where the name is long, then its parameters. The full name belongs into a title.
export function shortTemplates(name) {
  if (name.length <= 44 || !/[<(]/.test(name) || name[0] === "<") return name; // <built-in method f of ...> is not a template
  let out = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i], of = /operator[<>\-]*$/.test(out) && !depth;
    if (c === "<" && !of && depth++ === 0) out += "<…";
    else if (c === ">" && depth > 0 && name[i - 1] !== "-") { if (--depth === 0) out += ">"; } else if (!depth) out += c;
  }
  if (depth) return name; // its brackets do not match
  out = out.replaceAll("std::__cxx11::basic_string<…>", "std::string");
  return out.length > 60 ? out.replace(/\([^()]{20,}\)( const)?$/, "(…)$1") : out;
}
