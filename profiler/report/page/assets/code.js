// Source text as tokens: comments, texts, numbers and keywords of Python, C, C++, CUDA and Rust. No more is told apart.
import { code, el, plain } from "./ui.js";

const KEYWORDS = {
  python: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
  c: "alignas auto bool break case catch char class const constexpr continue decltype default delete do double else enum extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register restrict return short signed sizeof static static_cast struct switch template this throw true try typedef typename union unsigned using virtual void volatile while __global__ __device__ __host__ __shared__ __constant__ __restrict__ __syncthreads size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
  rust: "as async await bool break const continue crate dyn else enum extern f32 f64 false fn for i16 i32 i64 i8 if impl in isize let loop match mod move mut pub ref return self Self static str struct super trait true type u16 u32 u64 u8 unsafe use usize where while",
};
const WORDS = Object.fromEntries(Object.entries(KEYWORDS).map(([name, words]) => [name, new Set(words.split(" "))]));
const NUMBER = String.raw`(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\w*)`, WORD = String.raw`(?<word>[A-Za-z_]\w*)`;
const TOKENS = {
  python: [String.raw`(?<comment>#.*)`, String.raw`(?<open>[rbfuRBFU]{0,2}(?:"""|'''))`, String.raw`(?<text>[rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))`, NUMBER, WORD],
  c: [String.raw`(?<comment>//.*)`, String.raw`(?<open>/\*)`, String.raw`(?<text>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])+')`, String.raw`(?<directive>^\s*#\s*\w+)`, NUMBER, WORD],
  rust: [String.raw`(?<comment>//.*)`, String.raw`(?<open>/\*)`, String.raw`(?<text>b?"(?:\\.|[^"\\])*"?|b?'(?:\\.[^']*|[^'\\])')`, NUMBER, WORD],
};
const PATTERN = Object.fromEntries(Object.entries(TOKENS).map(([name, parts]) => [name, new RegExp(parts.join("|"), "g")]));

export function languageOf(path, file) {
  if (/\.pyx?$|\.pxd$/.test(path) || file.language === "python") return "python";
  if (/\.rs$/.test(path)) return "rust";
  return file.language === "c" || file.language === "cuda" ? "c" : null;
}

// The pieces of one line, [[class, text], ...], and what it leaves open: the mark that closes it, or null.
function tokensOf(text, language, open) {
  const pieces = [], pattern = PATTERN[language], words = WORDS[language];
  const put = (kind, piece) => { if (piece) pieces.push([kind, piece]); };
  const kindOf = (mark) => (mark === "*/" ? "comment" : "text");
  let at = 0;
  const close = (from) => { // up to the end of what is open
    const end = text.indexOf(open, from), stop = end < 0 ? text.length : end + open.length;
    put(kindOf(open), text.slice(at, stop));
    at = stop;
    if (end >= 0) open = null;
  };
  if (open) close(0);
  while (at < text.length) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) break;
    put("", text.slice(at, found.index));
    at = found.index;
    const g = found.groups;
    if (g.open) {
      open = g.open === "/*" ? "*/" : g.open.slice(-3);
      close(at + g.open.length);
      continue;
    }
    put(g.comment ? "comment" : g.text ? "text" : g.number ? "number" : g.directive || words.has(g.word) ? "keyword" : "", found[0]);
    at += found[0].length;
  }
  put("", text.slice(at));
  return { pieces, open };
}

// What each line of a file begins inside of. texts: line number -> text, in order; a gap ends it.
export function openMarks(texts, language) {
  const marks = new Map();
  let open = null, before = 0;
  for (const [line, text] of texts) {
    if (line !== before + 1) open = null;
    if (open) marks.set(line, open);
    if (open || /"""|'''|\/\*/.test(text)) open = tokensOf(text, language, open).open;
    before = line;
  }
  return marks;
}

export function highlighted(text, language, open, limit) {
  const shown = plain(text);
  if (!language) return code(shown, limit);
  const cutOff = shown.length > limit ? shown.slice(0, limit) : shown;
  return el("code", { title: cutOff === shown ? null : shown.slice(0, 4000) },
    tokensOf(cutOff, language, open).pieces.map(([kind, piece]) => (kind ? el("span", { class: "t-" + kind }, piece) : piece)), cutOff === shown ? null : "…");
}
