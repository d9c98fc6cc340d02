// One caller's line to the service: its token, and what is repeated when an answer is lost.
//
// What may be thrown: Refused, the service said no; Unreachable, no answer came, however often it was asked; Unexpected, what
// answered was not the service; of `Table.events` alone LogExpired. Whoever aborts gets the reason of their own signal.

import { OPERATIONS } from "./contract.js";
import type { components, operations } from "./schema.js";

export type Operation = keyof operations & keyof typeof OPERATIONS;
export type Problem = components["schemas"][keyof components["schemas"] & `${string}Problem`];

type Json<Response> = Response extends { content: { "application/json": infer Body } } ? Body : never;
type Answered<Op extends Operation> = {
  [Status in keyof operations[Op]["responses"]]: Json<operations[Op]["responses"][Status]>;
}[keyof operations[Op]["responses"]];

/** `if (answer.redacted)` tells the public form of a secret from the whole answer. */
type Tellable<Body> = Body extends { redacted: true } ? Body : Body & { redacted?: never };
type Redacted<Body> = Extract<Body, { redacted: true }>;
export type Answer<Op extends Operation> = [Redacted<Answered<Op>>] extends [never] ? Answered<Op> : Tellable<Answered<Op>>;

type Present<Members> = [Members] extends [never] ? unknown : Members;
type Part<Op extends Operation, Place extends "path" | "query" | "header"> = Present<
  NonNullable<operations[Op]["parameters"][Place]>
>;
type BodyOf<Op extends Operation> = operations[Op] extends { requestBody?: never }
  ? unknown
  : operations[Op] extends { requestBody: { content: { "application/json": infer Body } } }
    ? { body: Body }
    : operations[Op] extends { requestBody?: { content: { "application/json": infer Body } } }
      ? { body?: Body }
      : unknown;
/** The `version` that a change was decided on, or `*` for whatever is there. */
type Decided<Op extends Operation> = "If-Match" extends keyof Part<Op, "header"> ? { ifMatch?: number | "*" } : unknown;
type Aside<Op extends Operation> = { headers?: Omit<Part<Op, "header">, "If-None-Match">; signal?: AbortSignal };

/** Path, query and body in one object. The answer is read as JSON, and has to be there: no `format`, no `If-None-Match`. */
export type Asked<Op extends Operation, Bound extends string = never> = Omit<Part<Op, "path">, Bound> &
  Omit<Part<Op, "query">, "format"> &
  BodyOf<Op> &
  Decided<Op> &
  Aside<Op>;
type Arguments<Wanted> = Record<never, never> extends Wanted ? [asked?: Wanted] : [asked: Wanted];
export type Methods<Op extends Operation, Bound extends string = never> = {
  [Each in Op]: (...asked: Arguments<Asked<Each, Bound>>) => Promise<Answer<Each>>;
};

/** The service refused; nothing was rolled and nothing changed. `problem` is told apart by its `code`. */
export class Refused extends Error {
  readonly code: Problem["code"];
  readonly text: string;
  readonly status: number;

  constructor(
    readonly problem: Problem,
    readonly retryAfterS: number | undefined,
  ) {
    super(`${problem.code}: ${problem.text}`);
    this.name = "Refused";
    this.code = problem.code;
    this.text = problem.text;
    this.status = problem.status;
  }
}

/** No answer came, however often it was asked; what was lost last is its `cause`. The last step may have been heard. */
export class Unreachable extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "Unreachable";
  }
}

/** What answered was not the service, for example a proxy in front of it. */
export class Unexpected extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`Unexpected status ${status}`);
    this.name = "Unexpected";
  }
}

/**
 * How often one request is repeated, and how long a wait may be that the service asks for. `awayMs` is how long `events` waits
 * for a service that has gone. It asks every `longestWaitMs` at least. `timeoutMs` is how long one try waits for its answer.
 */
export type Patience = { repeats: number; firstWaitMs: number; longestWaitMs: number; timeoutMs: number; awayMs: number };
export const PATIENCE: Patience = {
  repeats: 4,
  firstWaitMs: 250,
  longestWaitMs: 30_000,
  timeoutMs: 10_000,
  awayMs: Number.POSITIVE_INFINITY,
};

const PASSING = new Set([429, 502, 503, 504]);

export class Connection {
  readonly address: string;
  readonly patience: Patience;
  readonly #headers: Record<string, string>;

  constructor(address: string, patience: Partial<Patience>, headers: Record<string, string>) {
    this.address = address.replace(/\/+$/, "");
    this.patience = { ...PATIENCE, ...patience };
    this.#headers = headers;
  }

  async ask<Op extends Operation>(name: Op, asked: Record<string, unknown> = {}): Promise<Answer<Op>> {
    const { method, path, keyed } = OPERATIONS[name];
    const { body, headers: told, ifMatch, signal, ...params } = asked;
    const headers: Record<string, string> = keyed ? { "Idempotency-Key": crypto.randomUUID() } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (ifMatch !== undefined) headers["If-Match"] = typeof ifMatch === "number" ? `"${ifMatch}"` : String(ifMatch);
    Object.assign(headers, told);
    const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const repeatable = method === "GET" || keyed || !path.startsWith("/v1/sessions");
    const given = signal as AbortSignal | undefined;
    const response = await this.#patiently(() => this.#whole(this.#url(path, params), init, given), repeatable, given);
    return (await response.json()) as Answer<Op>;
  }

  /** A response whose body is left to the caller, who also knows when to ask again. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return checked(await this.#sent(this.address + path, { headers }, signal).catch(unreached));
  }

  #url(path: string, params: Record<string, unknown>): string {
    const rest = new Map(Object.entries(params).filter(([, value]) => value !== undefined));
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = encodeURIComponent(String(rest.get(name)));
      rest.delete(name);
      return value;
    });
    const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]));
    return this.address + filled + (query.size ? `?${query}` : "");
  }

  async #patiently(send: () => Promise<Response>, repeatable: boolean, signal?: AbortSignal): Promise<Response> {
    for (let repeats = 0; ; repeats++) {
      const outcome: Response | Error = await send().catch((lost: Error) => lost);
      signal?.throwIfAborted();
      const passing = outcome instanceof Response && PASSING.has(outcome.status);
      const again = repeatable ? passing || !(outcome instanceof Response) : passing && outcome.status === 429;
      const waitMs = this.#waitMs(repeats, outcome);
      if (again && waitMs !== undefined) await slept(waitMs, signal);
      else if (outcome instanceof Response) return checked(outcome);
      else unreached(outcome);
    }
  }

  async #whole(url: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
    const late = AbortSignal.timeout(this.patience.timeoutMs);
    const response = await this.#sent(url, init, signal ? AbortSignal.any([signal, late]) : late);
    return new Response(await response.arrayBuffer(), response);
  }

  #sent(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
    return fetch(url, { ...init, headers: { ...this.#headers, ...(init.headers as Record<string, string>) }, signal });
  }

  #waitMs(repeats: number, outcome: Response | Error): number | undefined {
    const asked = outcome instanceof Response ? retryAfterS(outcome) : undefined;
    const waitMs = asked === undefined ? this.patience.firstWaitMs * 2 ** repeats : asked * 1000;
    return repeats >= this.patience.repeats || waitMs > this.patience.longestWaitMs ? undefined : waitMs;
  }
}

export function unreached(lost: Error): never {
  throw new Unreachable(`The service does not answer: ${lost.message}`, lost);
}

/** What may pass, and ends a listener only where it does not. */
export type Lost = Refused | Unexpected | Unreachable;
export function isLost(error: unknown): error is Lost {
  return error instanceof Refused || error instanceof Unexpected || error instanceof Unreachable;
}

/** How long nothing was heard from the service, and when to ask again. Listeners do not all come back at once. */
export class Absence {
  #sinceMs: number | undefined;
  #pauseMs: number;

  constructor(readonly patience: Patience) {
    this.#pauseMs = patience.firstWaitMs;
  }

  end(): void {
    this.#sinceMs = undefined;
    this.#pauseMs = this.patience.firstWaitMs;
  }

  /** Throws what was lost where it does not pass, Unreachable where it was waited for long enough. */
  pauseMs(lost: Lost | undefined): number {
    if (lost && "status" in lost && !PASSING.has(lost.status)) throw lost;
    const { longestWaitMs, awayMs } = this.patience;
    this.#sinceMs ??= Date.now();
    const leftMs = awayMs - (Date.now() - this.#sinceMs);
    if (leftMs <= 0) throw new Unreachable("The service stays away.", lost);
    const askedMs = lost instanceof Refused ? (lost.retryAfterS ?? 0) * 1000 : 0;
    const pauseMs = Math.max(this.#pauseMs * (0.5 + Math.random() / 2), askedMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestWaitMs);
    return Math.min(pauseMs, longestWaitMs, leftMs);
  }
}

/** Throws the signal's reason as soon as it is aborted. */
export function slept(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, stopped) => {
    const stop = () => {
      clearTimeout(timer);
      stopped(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

function retryAfterS(response: Response): number | undefined {
  const said = response.headers.get("Retry-After") ?? "";
  return /^\d+$/.test(said) ? Number(said) : undefined;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = await response.text();
  if (!response.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    throw new Unexpected(response.status, body);
  }
  throw new Refused(JSON.parse(body) as Problem, retryAfterS(response));
}
