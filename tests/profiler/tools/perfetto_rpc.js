// Perfetto's trace processor, its web build under node: requests of its RPC from a file, replies to another one.
//   node perfetto_rpc.js ENGINE_BUNDLE REQUESTS REPLIES
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const [bundle, requests, replies] = process.argv.slice(2);
const folder = path.dirname(bundle);
const out = [];
// not node's own way, which prints the whole bundle: it is one line
for (const kind of ["uncaughtException", "unhandledRejection"])
  process.on(kind, problem => { console.error(String(problem).slice(0, 500)); process.exit(1); });
process.type = "renderer"; // else it refuses to run under node
globalThis.self = globalThis;
globalThis.location = { href: "file://" + bundle, pathname: bundle, search: "", origin: "null" };
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.XMLHttpRequest = class { // how it gets its .wasm
  open(_, url) { this.url = url; }
  send() {
    const body = fs.readFileSync(path.join(folder, path.basename(String(this.url))));
    this.response = body.buffer.slice(body.byteOffset, body.byteOffset + body.length);
    this.status = 200;
  }
};
vm.runInThisContext(fs.readFileSync(bundle, "utf8"), { filename: bundle });
const port = { postMessage: data => out.push(Buffer.from(data)), onmessage: null };
self.onmessage({ data: port });
// Its .wasm was read and compiled on the spot; only promises are left to settle before it takes requests.
setTimeout(() => {
  port.onmessage({ data: new Uint8Array(fs.readFileSync(requests)) });
  fs.writeFileSync(replies, Buffer.concat(out));
  process.exit(0);
}, 500);
