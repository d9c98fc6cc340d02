// Needs the operator's key, listens on across a restart, and ends where that is wanted; what came of each step is printed.

import { Emberdice, Refused, Table, Unreachable } from "emberdice-client";

declare const process: { argv: string[] };

const [address = "", key = ""] = process.argv.slice(2);
const brisk = { firstWaitMs: 10, longestWaitMs: 100 };

for (const stranger of [new Emberdice(address), new Emberdice(address, { apiKey: "guessed" })]) {
  const refused = await stranger.openTable().catch((error: unknown) => error);
  if (refused instanceof Refused) console.log(refused.code, refused.status);
}
const table = await new Emberdice(address, { apiKey: key, patience: brisk }).openTable({ characters: ["Zoé"] });
const hurried = new Table(address, table.id, table.opened.tokens.gm, { ...brisk, awayMs: 200 });
console.log("table", table.id, table.opened.tokens.gm);

let draws = 0;
for await (const event of table.events("0")) {
  if (event.type === "cards.drawn") console.log("heard", draws++);
  if (draws === 2) break;
}
try {
  for await (const _ of hurried.events("0"));
} catch (gone) {
  if (gone instanceof Unreachable) console.log(gone.message);
}
const gone = await hurried.readState().catch((error: unknown) => error);
if (gone instanceof Unreachable && gone.cause instanceof TypeError) console.log("TypeError");

const stop = AbortSignal.timeout(50);
const stopped = await hurried.seat("any").events("0", stop).next().catch((error: unknown) => error);
console.log(stopped === stop.reason);
