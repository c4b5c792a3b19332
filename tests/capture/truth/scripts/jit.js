// Node: two functions that its JIT compiles, a regular expression and JSON; the phases go into $TRUTH.
const fs = require("fs");
const phases = {};
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };

function phase(name, work) {
  const begin = cpu(), wall = performance.now();
  const result = work();
  phases[name] = { thread_s: cpu() - begin, process_s: cpu() - begin, wall_s: (performance.now() - wall) / 1e3, calls: 1 };
  return result;
}

function spin(n) { // truth: spin
  let x = 1.0;
  for (let i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; // truth: spin
  return x;
}

function count(n) { // truth: count
  const m = new Map();
  for (let i = 0; i < n; i++) m.set(i % 9973, (m.get(i % 9973) || 0) + i); // truth: count
  return m.size;
}

const a = phase("spin", () => spin(4e8));
const b = phase("count", () => count(2e7));
const c = phase("json", () => { let n = 0; for (let i = 0; i < 12; i++) n += JSON.parse(JSON.stringify(Array.from({ length: 200000 }, (_, k) => ({ k })))).length; return n; }); // truth: json
console.log(a.toFixed(6), b, c);
if (process.env.TRUTH) fs.writeFileSync(`${process.env.TRUTH}/${process.pid}.json`, JSON.stringify({ pid: process.pid, process_s: cpu(), phases }));
