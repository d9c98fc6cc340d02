// The service takes each request and answers none in time; what came of it is printed.

import { Table, Unreachable } from "emberdice-client";

declare const process: { argv: string[] };

const table = new Table(process.argv[2] ?? "", "table", "token", { repeats: 1, firstWaitMs: 10, timeoutMs: 1_000 });
const heard = table.events("0").next();
const lost = await table.drawCards({ deck: "light" }).catch((error: unknown) => error);
if (lost instanceof Unreachable) console.log(lost.message);
console.log("heard", (await heard).value?.type);
