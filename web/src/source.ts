// Where the bytes of a file come from: a file of the user, or a URL that is read by ranges.

import type { Range } from "./answers";

export interface Source {
  name: string;
  size: number;
  read(range: Range): Promise<Uint8Array>;
}

export function fromBlob(blob: Blob, name: string): Source {
  return {
    name,
    size: blob.size,
    read: async ([start, end]) => new Uint8Array(await blob.slice(start, end).arrayBuffer()),
  };
}

/** Opens a URL. A server without ranges sends the whole file once. */
export async function fromUrl(url: string): Promise<Source> {
  const name = decodeURIComponent(new URL(url).pathname.split("/").pop() || "file");
  const first = await fetch(url, { headers: { Range: "bytes=0-0" } }).catch((cause: Error) => {
    throw new Error(`cannot fetch ${url}: ${cause.message}`);
  });
  if (!first.ok) throw new Error(`cannot fetch ${url}: the server answers ${first.status}`);
  const total = /\/(\d+)$/.exec(first.headers.get("Content-Range") ?? "")?.[1];
  if (first.status !== 206 || total === undefined) return fromBlob(await first.blob(), name);
  const version = first.headers.get("ETag") ?? first.headers.get("Last-Modified");
  await first.arrayBuffer();
  return {
    name,
    size: Number(total),
    read: async ([start, end]) => {
      const answer = await fetch(url, { headers: { Range: `bytes=${start}-${end - 1}` } });
      if (answer.status !== 206) {
        throw new Error(`cannot read bytes ${start} to ${end}: the server answers ${answer.status}`);
      }
      const now = answer.headers.get("ETag") ?? answer.headers.get("Last-Modified");
      if (version && now && now !== version) throw new Error("the file has changed on the server");
      return new Uint8Array(await answer.arrayBuffer());
    },
  };
}
