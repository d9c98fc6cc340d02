// A client of Emberdice, made from its contract.

import { type Asked, Connection, type Methods, type Operation, type Patience } from "./connection.js";
import { OPERATIONS } from "./contract.js";
import { events, type TableEvent } from "./events.js";
import type { OpenedSession, OpenRequest, operations } from "./schema.js";

export {
  type Answer,
  type Asked,
  type Operation,
  PATIENCE,
  type Patience,
  type Problem,
  Refused,
  Unexpected,
  Unreachable,
} from "./connection.js";
export { VERSION } from "./contract.js";
export { LogExpired, type TableEvent } from "./events.js";
export type * from "./schema.js";

export type AtTable = {
  [Op in Operation]: operations[Op]["parameters"] extends { path: { session: string } } ? Op : never;
}[Operation];

export interface Table extends Methods<AtTable, "session"> {}

/** One table, asked with one token. */
export class Table extends Connection {
  constructor(
    address: string,
    readonly id: string,
    token: string,
    patience: Partial<Patience> = {},
    /** What is said only once, and only to whoever opens the table. */
    readonly opened?: OpenedSession,
  ) {
    super(address, patience, { Authorization: `Bearer ${token}` });
  }

  /** The same table for another token, for example that of `opened.tokens.player`. */
  seat(token: string): Table {
    return new Table(this.address, this.id, token, this.patience);
  }

  /**
   * What the log has, or what followed `after`; with `order: "desc"` newest first, or what was before it. Asks for `limit` at a
   * time. Throws Refused where the log no longer reaches back to `after`.
   */
  async *history(asked: Asked<"listEvents", "session"> = {}): AsyncGenerator<TableEvent> {
    let page = await this.listEvents(asked);
    yield* page.events;
    while (page.has_more && page.next !== null) {
      page = await this.listEvents({ ...asked, after: page.next });
      yield* page.events;
    }
  }

  /**
   * What happens from now, or after that event, across cut connections and restarts of the service.
   * Throws LogExpired where the log does not reach back so far, Unreachable after `awayMs`, and Refused where the token or the
   * table is no more.
   */
  async *events(after?: string, signal?: AbortSignal): AsyncGenerator<TableEvent> {
    yield* events(this, this.id, after ?? (await this.readState()).last_event, signal);
  }
}

export interface Emberdice extends Methods<Exclude<Operation, AtTable>> {}

/** The service: what needs no table, and the way to one. */
export class Emberdice extends Connection {
  /** `apiKey`: where the service's operator asks for one. */
  constructor(address: string, { apiKey, patience = {} }: { apiKey?: string | undefined; patience?: Partial<Patience> } = {}) {
    super(address, patience, apiKey ? { "X-Api-Key": apiKey } : {});
  }

  /** Opens a table and sits down as its game master. */
  async openTable(wanted: OpenRequest = {}): Promise<Table & { opened: OpenedSession }> {
    const opened = await this.openSession({ body: wanted });
    const table = new Table(this.address, opened.id, opened.tokens.gm, this.patience, opened);
    return table as Table & { opened: OpenedSession };
  }

  /** A table that is open, by its `id`. Nothing is asked yet. */
  table(session: string, token: string): Table {
    return new Table(this.address, session, token, this.patience);
  }
}

for (const [name, { path }] of Object.entries(OPERATIONS)) {
  const atTable = path.includes("{session}");
  Object.defineProperty((atTable ? Table : Emberdice).prototype, name, {
    value(this: Table, asked: Record<string, unknown>) {
      return this.ask(name as Operation, atTable ? { ...asked, session: this.id } : asked);
    },
  });
}
