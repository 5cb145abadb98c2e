// The page's side of the worker.

import type { Request } from "./answers";
import type { Call, Failure, Reply } from "./worker";

/** An error with the place in a predicate that it is about. */
export class ViewError extends Error {
  readonly place: [number, number] | null;

  constructor({ message, place }: Failure) {
    super(message);
    this.place = place;
  }
}

export interface Part<T> {
  value: T;
  bytes: Uint8Array;
  done: boolean;
}

/** A request whose answer comes in parts. */
export interface Job<T> {
  next(): Promise<Part<T>>;
  end(): void;
}

export class Client {
  /** Bytes of the file that were fetched. */
  fetched = 0;
  onprogress?: (fetched: number, of: number) => void;
  private readonly worker: Worker;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private nextId = 0;

  constructor(script: string) {
    this.worker = new Worker(script, { type: "module" });
    this.worker.onmessage = (event: MessageEvent<Reply & { progress?: number; of?: number }>) => {
      const reply = event.data;
      if (reply.progress !== undefined) {
        this.onprogress?.(reply.progress, reply.of ?? 0);
        return;
      }
      this.fetched = reply.fetched;
      this.waiting.get(reply.id)?.(reply);
      this.waiting.delete(reply.id);
    };
  }

  private async call(call: Call): Promise<Extract<Reply, { ok: unknown }>> {
    const id = this.nextId++;
    const reply = await new Promise<Reply>((resolve) => {
      this.waiting.set(id, resolve);
      this.worker.postMessage({ id, ...call });
    });
    if ("error" in reply) throw new ViewError(reply.error);
    return reply;
  }

  async open(from: { blob: Blob; name: string } | { url: string }, wasm: string): Promise<void> {
    await this.call({ call: "open", wasm, ...from });
  }

  async start<T>(request: Request): Promise<Job<T>> {
    const job = (await this.call({ call: "start", request })).ok as number;
    return {
      next: async () => {
        const { ok, bytes, done } = await this.call({ call: "step", job });
        return { value: ok as T, bytes: bytes ?? new Uint8Array(), done: done ?? true };
      },
      end: () => void this.call({ call: "end", job }).catch(() => undefined),
    };
  }

  /** Runs a request whose answer comes at once. */
  async ask<T>(request: Request): Promise<T> {
    const job = await this.start<T>(request);
    for (;;) {
      const part = await job.next();
      if (part.done) return part.value;
    }
  }

  close(): void {
    this.worker.terminate();
  }
}
