/** Speaks to the service: steps that are safe to repeat, and the table's live stream. */

import { language, say } from "./words.mjs";

/** @typedef {import("./seat.mjs").Seat} Seat */

const TRIES = 4;
const ANSWER_MS = 10_000;
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 30_000;
/** The service says something every 15 seconds; after this the line is dead. */
const SILENCE_MS = 40_000;
const UNSURE_MS = 300_000;
const PASSING = new Set([408, 429, 502, 503, 504]);

/** What the service refused, in its words; or that it was not reached. */
export class Problem extends Error {
  /**
   * @param {string} text
   * @param {{status?: number, body?: any, pauseMs?: number}} [told]
   */
  constructor(text, { status = 0, body = {}, pauseMs = 0 } = {}) {
    super(text);
    this.status = status;
    this.body = body;
    this.pauseMs = pauseMs;
  }

  get code() {
    return this.body.code ?? "";
  }

  /** Whether the same step may succeed when it is asked again. */
  get passes() {
    return this.status === 0 || PASSING.has(this.status);
  }
}

/** Keys of steps that found no answer, by what was asked for. @type {Map<string, {key: string, atMs: number}>} */
const unsure = new Map();

/**
 * What found no answer may have been done: asked for again within some minutes, it goes under the same key.
 * @param {string} step
 */
function keyOf(step) {
  const kept = unsure.get(step);
  unsure.delete(step);
  return kept && performance.now() - kept.atMs < UNSURE_MS ? kept.key : foundry.utils.randomID(24);
}

/**
 * Asks for one step. A lost answer is asked for again under the same key, so that nothing happens twice.
 * @param {Seat} seat
 * @param {string} method
 * @param {string} path below /v1; `{table}` stands for the seat's own
 * @param {{body?: object, query?: Record<string, string>, once?: boolean}} [told] `once`: no answer is kept to repeat
 * @returns {Promise<any>}
 */
export async function ask(seat, method, path, { body, query = {}, once = false } = {}) {
  const url = located(seat, path, query);
  const step = JSON.stringify([method, url, seat.token, body]);
  const key = method === "GET" || once ? "" : keyOf(step);
  const told = { method, headers: headersOf(seat, body, key), body: body && JSON.stringify(body) };
  for (let again = once ? 0 : TRIES - 1; ; again -= 1) {
    try {
      return await answered(url, told);
    } catch (error) {
      const problem = /** @type {Problem} */ (error);
      if (!again && key && problem.passes) unsure.set(step, { key, atMs: performance.now() });
      if (!again || !problem.passes) throw problem;
      await pause(problem.pauseMs || FIRST_PAUSE_MS * 2 ** (TRIES - again - 1));
    }
  }
}

/** @param {Seat} seat @param {string} path @param {Record<string, string>} query */
function located({ address, table }, path, query) {
  const told = new URLSearchParams({ lang: language(), ...query });
  return `${address}/v1${path.replace("{table}", `/sessions/${encodeURIComponent(table)}`)}?${told}`;
}

/** @param {Seat} seat @param {object} [body] @param {string} [key] */
function headersOf({ token, key: operators }, body, key) {
  return {
    Accept: "application/json",
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(operators && { "X-Api-Key": operators }),
    ...(body && { "Content-Type": "application/json" }),
    ...(key && { "Idempotency-Key": key }),
  };
}

/** @param {string} url @param {RequestInit} told */
async function answered(url, told) {
  const quiet = /** @type {const} */ ({ credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
  let answer, body;
  try {
    answer = await fetch(url, { ...told, ...quiet, signal: AbortSignal.timeout(ANSWER_MS) });
    body = await answer.text();
  } catch {
    throw new Problem(say("problem.unreached"));
  }
  const said = parsed(body);
  if (answer.ok && said) return said;
  throw refusal(answer, said ?? {});
}

/** @param {Response} answer @param {any} body */
function refusal({ status, headers }, body) {
  const seconds = Math.min(Number(headers.get("Retry-After")) || 0, 5);
  const text = body.text ?? say("problem.answered", { status: String(status) });
  return new Problem(text, { status, body, pauseMs: seconds * 1000 });
}

function parsed(/** @type {string} */ body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function pause(/** @type {number} */ ms) {
  return new Promise((resume) => setTimeout(resume, ms));
}

/**
 * Hears what happens at the table until it is told to stop; a line that breaks is taken up where it broke.
 * EventSource could not do this: it sends no Authorization, and a player's token must not stand in an address.
 * @param {Seat} seat
 * @param {{after: string, hear: (event: any) => void, signal: AbortSignal}} told
 */
export async function follow(seat, { after, hear, signal }) {
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      for await (const event of events(seat, after, signal)) {
        pauseMs = FIRST_PAUSE_MS;
        after = event.type === "reset" ? event.last_event : event.id;
        hear(event);
      }
    } catch (error) {
      if (error instanceof Problem && !error.passes) throw error;
    }
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** @param {Seat} seat @param {string} after @param {AbortSignal} signal */
async function* events(seat, after, signal) {
  const silence = new AbortController();
  const heard = foundry.utils.debounce(() => silence.abort(), SILENCE_MS);
  heard();
  const told = { headers: { ...headersOf(seat), Accept: "text/event-stream" } };
  const answer = await fetch(located(seat, "{table}/events", { after }), {
    ...told,
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.any([signal, silence.signal]),
  });
  if (!answer.ok || !answer.body) throw refusal(answer, parsed(await answer.text()) ?? {});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    heard();
    const messages = (text + chunk.value).split("\n\n");
    text = messages.pop() ?? "";
    for (const message of messages) {
      const data = /^data: (.*)$/m.exec(message);
      if (data) yield JSON.parse(data[1] ?? "");
    }
  }
}
