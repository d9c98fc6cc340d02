// A whole evening with the TypeScript SDK over a bad line; what came of each step is printed.

import { Emberdice, LogExpired, type Problem, Refused, type Table, type TableEvent, Unreachable } from "emberdice-client";

declare const process: { argv: string[] };

async function refusal(step: Promise<unknown>): Promise<Problem> {
  const refused = await step.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refused instanceof Refused) return refused.problem;
  throw refused ?? new Error("not refused");
}

async function play(table: Table, zoe: Table): Promise<void> {
  const character = "zoe";
  await zoe.putSheet({
    character,
    body: { aptitudes: { control: 3 }, qualifications: { wetware: 2, resilience: 1 }, protections: ["heavy"] },
  });

  const pool = { base: 4, red: 1, difficulty: "normal", faces: [6, 5, 3, 2, 1, 4] } as const;
  const roll = await zoe.rollForCharacter({ character, body: { ...pool, faces: [...pool.faces] } });
  if (roll.redacted) throw new Error(roll.text);
  console.log("roll", roll.outcome, roll.successes, roll.drawn.length);

  const blind = await zoe.rollForCharacter({ character, body: { base: 1, visibility: "blind" } });
  if (blind.redacted) console.log("blind", blind.visibility, title(blind.text === blind.public_text));

  const hit = await zoe.takeHit({ character, body: { die: "d8", faces: [5], wait: "soak" } });
  if (hit.redacted || hit.hit === null) throw new Error(hit.text);
  console.log("hit", hit.state, hit.damage);
  const soak = { kind: "composure", faces: [6, 1, 2, 3, 4] } as const;
  const wound = await zoe.soakHit({ character, hit: hit.hit, body: { ...soak, faces: [...soak.faces] } });
  if (wound.redacted) throw new Error(wound.text);
  console.log("wound", wound.damage_level, wound.trauma_level);

  const healed = await zoe.heal({ character, body: { care: "treat_damage", base: 3, faces: [5, 5, 2] } });
  console.log("healed", healed.text);
  const problem = await refusal(zoe.heal({ character, body: { care: "treat_damage", base: 3 } }));
  if (problem.code === "healing-cooldown") {
    const remaining = problem.next_roll.remaining_seconds;
    console.log(problem.code, problem.care, title(7100 < remaining && remaining <= 7200));
  }

  for (let draws = 0; draws < 4; draws++) {
    const drawn = await zoe.drawCards({ deck: "light", body: { count: 10, character } });
    console.log(drawn.text.split(":")[0]);
  }
  const exhausted = await refusal(zoe.drawCards({ deck: "light", body: { count: 10, character } }));
  if (exhausted.code === "deck-exhausted") console.log(exhausted.code, exhausted.wanted, exhausted.left);
  await table.discardCards({ body: { all: true } });
  console.log("shuffled", (await table.shuffleDeck({ deck: "light", body: { discard: true } })).draw_pile);
}

async function listen(table: Table): Promise<void> {
  const types: string[] = [];
  const cards: number[] = [];
  for await (const event of table.events("0")) {
    if (event.type === "deck.shuffled") break;
    types.push(event.type);
    if (event.type === "cards.drawn" && event.data !== null) cards.push(event.data.cards.length);
  }
  console.log("heard", ...types);
  console.log("cards", ...cards);
  try {
    await table.events("expired").next();
  } catch (expired) {
    if (expired instanceof LogExpired) console.log(expired.message);
  }
}

async function comeBack(service: Emberdice, session: string, token: string, player: string): Promise<void> {
  const table = service.table(session, token);
  const character = "zoe";
  const { version } = await table.readSheet({ character });
  for (const attempt of [0, 1]) {
    const lost = await table.mintToken({ body: { role: "chat" } }).catch((error: unknown) => error);
    if (lost instanceof Unreachable) console.log("lost", attempt);
  }
  for (const damage of [4, 5]) {
    try {
      console.log("changed", (await table.changeSheet({ character, body: { damage }, ifMatch: version })).damage);
    } catch (refused) {
      if (refused instanceof Refused) console.log(refused.code, refused.status);
    }
  }
  await remember(table, table.seat(player));
}

async function remember(table: Table, zoe: Table): Promise<void> {
  for (const told of [await types(table.history({ limit: 5 })), await types(zoe.history({ limit: 1 }))]) {
    console.log("history", told.length, ...told.slice(-3));
  }
  for await (const newest of table.history({ order: "desc" })) {
    const before = await types(table.history({ order: "desc", after: newest.id }));
    console.log("newest", newest.type, ...before.slice(0, 3));
    console.log("after", ...(await types(table.history({ after: newest.id }))));
    break;
  }
}

async function types(events: AsyncIterable<TableEvent>): Promise<string[]> {
  const told: string[] = [];
  for await (const event of events) told.push(event.type);
  return told;
}

async function wait(service: Emberdice): Promise<void> {
  const { systems } = await service.systems({ include: ["markdown", "html"] });
  console.log("systems", ...systems.map((system) => system.id));
  const busy = await service.healthReady().catch((refused: unknown) => refused);
  if (busy instanceof Refused) console.log(busy.code, title(busy.retryAfterS === 3600));
  const lost = await service.openSession({ lang: "fr", body: {} }).catch((error: unknown) => error);
  if (lost instanceof Unreachable) console.log("lost");
}

/** As Python prints it. */
function title(truth: boolean): string {
  return truth ? "True" : "False";
}

const service = new Emberdice(process.argv[2] ?? "", { patience: { firstWaitMs: 10 } });
const table = await service.openTable({ characters: ["Zoé", "Max"], settings: { tier_size: 3 } });
await play(table, table.seat(table.opened.tokens.player));
await listen(table);
await comeBack(service, table.id, table.opened.tokens.gm, table.opened.tokens.player);
await wait(service);
