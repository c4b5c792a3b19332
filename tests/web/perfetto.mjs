// Perfetto's trace processor, as its own user interface runs it: the worker of engine_bundle.js around trace_processor.wasm. It speaks
// protobuf messages (perfetto/trace_processor/trace_processor.proto) over a MessagePort; of them this needs four fields.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";

const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod
const FIELD = { message: 1, seq: 1, request: 2, fatal: 5, data: 101, query: 103, result: 203, error: 2, batch: 3, strings: 5, last: 6, sql: 1 };

function varint(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), Buffer.from(value)]);

// [field, value] pairs of one message: numbers, and buffers for what has a length.
function* fields(message) {
  let at = 0;
  const next = () => { let n = 0, scale = 1, byte; do { byte = message[at++]; n += (byte & 127) * scale; scale *= 128; } while (byte > 127); return n; };
  while (at < message.length) {
    const tag = next(), field = Math.floor(tag / 8);
    if (tag % 8 === 0) yield [field, next()];
    else if (tag % 8 === 2) { const n = next(); yield [field, message.subarray(at, at + n)]; at += n; }
    else { const n = tag % 8 === 1 ? 8 : 4; yield [field, message.subarray(at, at + n)]; at += n; }
  }
}
const first = (message, field) => { for (const [f, v] of fields(message)) if (f === field) return v; return null; };

// Gives the trace to a fresh engine. Returns ask(sql), which resolves to the only text of its only row.
export async function perfettoReads(page, folder, trace) {
  const server = createServer(async (request, response) => {
    const name = request.url.split("/").pop(), type = { js: "text/javascript", wasm: "application/wasm" }[name.split(".").pop()] ?? "text/html";
    response.setHeader("Content-Type", type);
    response.end(type === "text/html" ? "<!doctype html>" : await readFile(`${folder}/${name}`).catch(() => ""));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(() => {
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker("/engine_bundle.js");
    window.inbox = [];
    worker.onerror = (e) => window.inbox.push("error " + e.message);
    port1.onmessage = (e) => window.inbox.push(btoa(Array.from(e.data, (c) => String.fromCharCode(c)).join("")));
    window.send = (text) => port1.postMessage(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
    worker.postMessage(port2, [port2]);
  });
  let seq = 0;
  const call = (method, ...parts) => page.evaluate((text) => window.send(text), bytes(FIELD.message, Buffer.concat([number(FIELD.seq, seq++), number(FIELD.request, method), ...parts])).toString("base64"));
  const receive = async () => {
    await page.waitForFunction(() => window.inbox.length, null, { timeout: 180000 });
    const text = await page.evaluate(() => window.inbox.shift());
    if (text.startsWith("error ")) throw new Error(`Perfetto's engine: ${text}`);
    const message = first(Buffer.from(text, "base64"), FIELD.message), fatal = first(message, FIELD.fatal);
    if (fatal) throw new Error(`Perfetto's engine: ${fatal}`);
    return message;
  };
  await call(APPEND, bytes(FIELD.data, trace));
  await receive();
  await call(FINALIZE);
  await receive();
  server.close();
  return async (sql) => {
    await call(QUERY, bytes(FIELD.query, bytes(FIELD.sql, Buffer.from(sql))));
    for (let text = "", done = false; ; ) {
      const result = first(await receive(), FIELD.result), error = first(result, FIELD.error);
      if (error?.length) throw new Error(`Perfetto: ${sql}: ${error}`);
      for (const [f, batch] of fields(result)) {
        if (f !== FIELD.batch) continue;
        text += first(batch, FIELD.strings)?.toString() ?? "";
        done = done || first(batch, FIELD.last) === 1;
      }
      if (done) return text.replace(/\0$/, "");
    }
  };
}
