// A table's event stream, across cut connections and restarts of the service.

import { Absence, type Connection, isLost, type Lost, slept, unreached } from "./connection.js";
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
  const absence = new Absence(at.patience);
  for (;;) {
    let lost: Lost | undefined;
    try {
      for await (const { id, said } of messages(at, path, after, absence, signal)) {
        if (said.type === "reset") throw new LogExpired(after, said.last_event);
        after = id;
        yield said;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isLost(error)) throw error;
      lost = error;
    }
    await slept(absence.pauseMs(lost), signal);
  }
}

/** What one connection says, until it is cut or silent for too long. */
async function* messages(at: Connection, path: string, after: string, absence: Absence, signal?: AbortSignal) {
  const silent = new AbortController();
  const either = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal;
  let unread = "";
  try {
    const asked = at.open(path, { Accept: "text/event-stream", "Last-Event-ID": after }, either);
    const reader = (await heard(asked, silent)).body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const read = reader && (await heard(reader.read().catch(unreached), silent));
      if (!read || read.done) return;
      absence.end();
      const blocks = (unread + read.value).split("\n\n");
      unread = blocks.pop() ?? "";
      for (const block of blocks) {
        const id = /^id: ?(.*)$/m.exec(block)?.[1];
        const data = /^data: ?(.*)$/m.exec(block)?.[1];
        if (id !== undefined && data !== undefined) yield { id, said: JSON.parse(data) as Said };
      }
    }
  } finally {
    silent.abort();
  }
}

async function heard<Said>(next: Promise<Said>, silent: AbortController): Promise<Said> {
  const timer = setTimeout(() => silent.abort(), SILENCE_MS);
  try {
    return await next;
  } finally {
    clearTimeout(timer);
  }
}
