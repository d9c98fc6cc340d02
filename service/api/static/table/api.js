// The service, as this page asks it. The token is only ever sent as a header.

const PATIENCE_MS = 15_000;
const SILENCE_MS = 40_000; // a stream gives a sign of life every 15 seconds

export class Refused extends Error {
  constructor(response) {
    super(`refused with ${response.status}`);
    this.status = response.status;
    this.afterSeconds = Number(response.headers.get("Retry-After")) || 0;
  }

  /** Whether asking again later, with the same token, can help. */
  get passes() {
    return this.status === 429 || this.status >= 500;
  }
}

export class Gone extends Error {}
export class Revoked extends Error {}

export class Table {
  constructor(service, id, token, lang) {
    this.address = new URL(`v1/sessions/${encodeURIComponent(id)}`, service);
    this.headers = { Authorization: `Bearer ${token}`, "Accept-Language": lang };
  }

  async read(path) {
    return (await asked(`${this.address}${path}`, { headers: this.headers, signal: AbortSignal.timeout(PATIENCE_MS) })).json();
  }

  /** Hang up: a browser opens few lines to one server, and keeps those of pages that were left. */
  leave() {
    this.ending?.abort();
  }

  /** Events after a cursor, and null as a sign of life, until the service or the line ends them. */
  async *events(after) {
    const ending = (this.ending = new AbortController());
    const silent = () => ending.abort(new Error("nothing heard"));
    let alarm = setTimeout(silent, PATIENCE_MS);
    try {
      const headers = { ...this.headers, Accept: "text/event-stream", "Last-Event-ID": after };
      const response = await asked(`${this.address}/events`, { headers, signal: ending.signal });
      for await (const block of blocks(response.body)) {
        clearTimeout(alarm);
        alarm = setTimeout(silent, SILENCE_MS);
        yield read(block);
      }
    } finally {
      clearTimeout(alarm);
      ending.abort();
    }
  }
}

/** What the games call things, by kind and id: "care calm_self"; nothing, where the service keeps its reference for others. */
export async function namesIn(service, lang) {
  try {
    return await labelsIn(service, lang);
  } catch (error) {
    if (error instanceof Refused && !error.passes) return new Map();
    throw error;
  }
}

async function labelsIn(service, lang) {
  const reference = async (system) =>
    (await asked(new URL(`v1/${system}/reference?lang=${lang}`, service), { signal: AbortSignal.timeout(PATIENCE_MS) })).json();
  const [sixd6, burn2d6] = await Promise.all([reference("sixd6"), reference("burn2d6")]);
  const kinds = { care: sixd6.cares, protection: sixd6.protections, deck: sixd6.decks, stat: burn2d6.stats };
  return new Map(Object.entries(kinds).flatMap(([kind, entries]) => entries.map(({ id, label }) => [`${kind} ${id}`, label])));
}

async function asked(url, request) {
  const response = await fetch(url, { ...request, credentials: "omit", referrerPolicy: "no-referrer" });
  if (!response.ok) throw new Refused(response);
  return response;
}

async function* blocks(body) {
  let waiting = "";
  for await (const text of chunks(body.pipeThrough(new TextDecoderStream()))) {
    const parts = (waiting + text).split("\n\n");
    waiting = parts.pop();
    yield* parts;
  }
}

// Not every browser iterates streams itself.
async function* chunks(stream) {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

function read(block) {
  if (block.startsWith(": gone")) throw new Gone();
  if (block.startsWith(": revoked")) throw new Revoked();
  const data = block.split("\n").filter((line) => line.startsWith("data:"));
  return data.length ? JSON.parse(data.map((line) => line.slice(5)).join("\n")) : null;
}
