// A table's event stream, across cut connections.

import { type Connection, slept } from "./connection.js";
import type { components } from "./schema.js";

export type TableEvent = components["schemas"]["Event"];
type Said = TableEvent | { type: "reset"; last_event: string };

const SILENCE_MS = 45_000;

/** The log no longer reaches back to where the listener was: read the table's state, then listen on from there. */
export class LogExpired extends Error {
  constructor(
    readonly after: string,
    readonly lastEvent: string,
  ) {
    super(`What followed event ${after} is partly forgotten. Read the table's state, then go on after event ${lastEvent}.`);
    this.name = "LogExpired";
  }
}

export async function* events(at: Connection, session: string, after: string, signal?: AbortSignal): AsyncGenerator<TableEvent> {
  const path = `/v1/sessions/${encodeURIComponent(session)}/events`;
  for (;;) {
    for await (const { id, said } of messages(at, path, after, signal)) {
      if (said.type === "reset") throw new LogExpired(after, said.last_event);
      after = id;
      yield said;
    }
    signal?.throwIfAborted();
    await slept(at.patience.firstWaitMs);
  }
}

/** What one connection says, until it is cut or silent for too long. */
async function* messages(at: Connection, path: string, after: string, signal?: AbortSignal) {
  const silent = new AbortController();
  const either = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal;
  const response = await at.open(path, { Accept: "text/event-stream", "Last-Event-ID": after }, either);
  const decoder = new TextDecoder();
  let unread = "";
  try {
    for await (const chunk of chunks(response, silent)) {
      const blocks = (unread + decoder.decode(chunk, { stream: true })).split("\n\n");
      unread = blocks.pop() ?? "";
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (id !== undefined && data !== undefined) yield { id, said: JSON.parse(data) as Said };
      }
    }
  } finally {
    silent.abort();
  }
}

async function* chunks(response: Response, silent: AbortController) {
  const reader = response.body?.getReader();
  for (;;) {
    const timer = setTimeout(() => silent.abort(), SILENCE_MS);
    const read = await reader?.read().catch(() => undefined);
    clearTimeout(timer);
    if (!read || read.done) return;
    yield read.value;
  }
}
