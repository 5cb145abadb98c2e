// A server of folders with byte ranges, which counts what it sends.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Serves folders under names; returns the address and the bytes sent for each path. */
export async function serve(folders) {
  const sent = new Map();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const [, name, ...rest] = path.split("/");
    const folder = folders[name];
    const file = folder && join(folder, normalize(`/${rest.join("/")}`));
    let size;
    try {
      size = statSync(file).size;
    } catch {
      response.writeHead(404).end();
      return;
    }
    const headers = { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Accept-Ranges": "bytes" };
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    const start = range ? Number(range[1]) : 0;
    const end = Math.min(range?.[2] ? Number(range[2]) : size - 1, size - 1);
    if (range) headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
    headers["Content-Length"] = Math.max(0, end - start + 1);
    sent.set(path, (sent.get(path) ?? 0) + headers["Content-Length"]);
    response.writeHead(range ? 206 : 200, headers);
    if (size === 0 || request.method === "HEAD") response.end();
    else createReadStream(file, { start, end }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, sent, close: () => server.close() };
}
