// Runs the module off the page's thread, and fetches the bytes that it misses.

import init, { File as HypFile } from "../dist/wasm/hypostyle_wasm.js";
import type { Range, Request, Step } from "./answers";
import { fromBlob, fromUrl, type Source } from "./source";

/** The largest range that is fetched at once, so that progress can be shown. */
const PIECE = 8 << 20;

export type Call =
  | { call: "open"; blob?: Blob; name?: string; url?: string; wasm: string }
  | { call: "start"; request: Request }
  | { call: "step"; job: number }
  | { call: "end"; job: number };

export interface Failure {
  message: string;
  place: [number, number] | null;
}

export type Reply =
  | { id: number; ok: unknown; bytes?: Uint8Array; done?: boolean; fetched: number }
  | { id: number; error: Failure; fetched: number };

let source: Source | undefined;
let file: HypFile | undefined;
let fetched = 0;

async function supply(ranges: Range[]): Promise<void> {
  if (!source || !file) return;
  const [from, to] = [source, file];
  await Promise.all(
    ranges.map(async ([start, end]) => {
      const whole = end - start > PIECE ? new Uint8Array(end - start) : undefined;
      if (!whole) {
        const bytes = await from.read([start, end]);
        fetched += bytes.length;
        to.supply(start, end, bytes);
        return;
      }
      for (let at = start; at < end; at += PIECE) {
        const piece = await from.read([at, Math.min(at + PIECE, end)]);
        fetched += piece.length;
        whole.set(piece, at - start);
        postMessage({ progress: fetched, of: from.size });
      }
      to.supply(start, end, whole);
    }),
  );
}

/** Steps until there is a part, the end or an error. */
async function step(id: number, job: number): Promise<Reply> {
  if (!file) throw new Error("no file is open");
  for (;;) {
    const answer = JSON.parse(file.step(job)) as Step;
    if ("missing" in answer) {
      await supply(answer.missing);
      continue;
    }
    if ("error" in answer) {
      file.end(job);
      return { id, error: answer.error, fetched };
    }
    const bytes = file.take_bytes(job);
    if ("part" in answer) return { id, ok: answer.part, bytes, done: false, fetched };
    file.end(job);
    return { id, ok: answer.done, bytes, done: true, fetched };
  }
}

async function answer(id: number, call: Call): Promise<Reply> {
  switch (call.call) {
    case "open": {
      const [opened] = await Promise.all([
        call.blob ? fromBlob(call.blob, call.name ?? "file") : fromUrl(call.url ?? ""),
        init({ module_or_path: call.wasm }),
      ]);
      source = opened;
      file = new HypFile(source.name, source.size);
      fetched = 0;
      return { id, ok: { name: source.name, size: source.size }, fetched };
    }
    case "start":
      return { id, ok: file?.start(JSON.stringify(call.request)), fetched };
    case "step":
      return step(id, call.job);
    case "end":
      file?.end(call.job);
      return { id, ok: null, fetched };
  }
}

onmessage = async (event: MessageEvent<{ id: number } & Call>) => {
  const { id, ...call } = event.data;
  let reply: Reply;
  try {
    reply = await answer(id, call as Call);
  } catch (cause) {
    const is_trap = cause instanceof WebAssembly.RuntimeError;
    const message = is_trap
      ? "the viewer ran out of memory or met a defect; `hyp` on the command line may do better"
      : String((cause as Error).message ?? cause);
    reply = { id, error: { message, place: null }, fetched };
  }
  const bytes = "bytes" in reply && reply.bytes ? [reply.bytes.buffer as ArrayBuffer] : [];
  postMessage(reply, { transfer: bytes });
};
