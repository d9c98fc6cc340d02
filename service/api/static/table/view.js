// What the table is, as elements. Whatever people typed goes in as text, never as markup.

const nodes = new WeakMap();

/** The list's children are one element an item, made once and filled again; what stays is not moved. */
export function keep(list, items, keyOf, make, fill) {
  if (!nodes.has(list)) nodes.set(list, new Map());
  const known = nodes.get(list);
  const keys = new Set(items.map(keyOf));
  for (const [key, node] of [...known].filter(([key]) => !keys.has(key))) {
    node.remove();
    known.delete(key);
  }
  items.forEach((item, at) => {
    const key = keyOf(item);
    if (!known.has(key)) known.set(key, make(item));
    const node = known.get(key);
    if (list.children[at] !== node) list.insertBefore(node, list.children[at] ?? null);
    fill(node, item);
  });
}

function element(name, className, ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

const typed = (name, className) => Object.assign(element(name, className), { dir: "auto" });
const part = (node, className) => node.querySelector(`:scope > .${className}`);

/** Nothing is written that already stands there: live regions would say it again. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = text === "";
}

export const hoursOf = (seconds) => {
  const whole = Math.max(0, Math.ceil(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return `${hours}:${String(minutes).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
};

const TWO_HOURS_S = 7200;

export class View {
  constructor(words, names) {
    this.words = words;
    this.names = names;
  }

  state(state) {
    const { words } = this;
    this.decks = new Map(state.decks.map(({ deck, name }) => [deck, name]));
    this.cards(document.querySelector("#common-cards"), state.table_cards);
    keep(document.querySelector("#piles"), state.decks, (deck) => deck.deck, () => typed("li", "pile"), (node, deck) => {
      write(node, `${this.deck(deck.deck)}${words.colon} ${deck.draw_pile} ${words.pile}`);
    });
    document.querySelector("#common").dataset.cards = state.table_cards.length;
    document.querySelector("#nobody").hidden = state.characters.length > 0;
    const waiting = new Map(state.hits.map((hit) => [hit.character, hit.state]));
    keep(document.querySelector("#characters"), state.characters, (each) => each.character.id, newPerson, (node, each) =>
      this.person(node, each, waiting.get(each.character.id)),
    );
    this.opponents(state.opponents);
  }

  named(kind, id) {
    return this.names.get(`${kind} ${id}`) ?? id.replaceAll("_", " ");
  }

  deck(id) {
    return this.decks.get(id) ?? this.named("deck", id);
  }

  person(node, { character, cards, sixd6, burn2d6, healing }, waiting) {
    const { words } = this;
    const timers = this.waits(healing);
    write(part(node, "name"), character.name);
    write(part(node, "who"), [character.kind === "npc" ? words.npc : "", character.player ?? "", character.present ? "" : words.absent]
      .filter(Boolean).join(" · "));
    Object.assign(node.dataset, { cards: cards.length, timers: timers.length, present: character.present });
    this.facts(part(node, "facts"), [...this.sixd6(sixd6, waiting), ...this.burn2d6(burn2d6)]);
    this.timers(part(node, "timers"), timers);
    this.cards(part(node, "cards"), cards);
    write(part(node, "none"), cards.length ? "" : words.no_cards);
  }

  sixd6(sheet, waiting) {
    const { words } = this;
    const hit = { awaiting_soak: words.soak_to_choose, awaiting_conversions: words.conversions_to_choose }[waiting];
    const pending = hit ? [{ key: "hit", text: hit, alarming: true }] : [];
    if (!sheet) return pending;
    return [
      { key: "damage", text: words.damage, value: sheet.damage },
      { key: "trauma", text: words.trauma, value: sheet.trauma },
      ...sheet.protections.map((each) => ({ key: each, text: this.named("protection", each) })),
      ...pending,
    ];
  }

  burn2d6(sheet) {
    const { words } = this;
    if (!sheet) return [];
    const places = [
      ...Object.entries(sheet.stats).map(([id, stat]) => ({ key: `stat ${id}`, text: this.named("stat", id), ...stat })),
      ...sheet.slots.map((slot) => ({ key: `slot ${slot.name}`, text: slot.name, ...slot })),
    ];
    return [
      ...places.map(({ key, text, value, burned }) => ({ key, text, value: `${burned}/${value}`, alarming: burned >= value })),
      { key: "surge", text: sheet.surge ? words.surge : words.surge_used },
      ...(sheet.out_of_action ? [{ key: "out", text: words.out_of_action, alarming: true }] : []),
    ];
  }

  facts(list, facts) {
    const make = () => element("li", "fact", typed("span", "what"), " ", element("span", "value"));
    list.hidden = !facts.length;
    keep(list, facts, (fact) => fact.key, make, (node, { text, value, alarming }) => {
      write(part(node, "what"), text);
      write(part(node, "value"), value === undefined ? "" : String(value));
      node.classList.toggle("alarming", Boolean(alarming));
    });
  }

  waits(healing) {
    const { words } = this;
    const cares = healing.cares
      .filter((care) => !care.ready)
      .map((care) => ({ key: care.care, text: this.named("care", care.care), until: care.next_roll.at_elapsed_seconds }));
    const tiers = healing.tracks
      .filter(({ window }) => window.closes && window.healed)
      .map(({ track, window }) => ({
        key: track,
        text: `${words[track]}${words.colon} ${window.healed}${window.tier_size ? `/${window.tier_size}` : ""} ${words.tier}`,
        until: window.closes.at_elapsed_seconds,
      }));
    return [...cares, ...tiers];
  }

  timers(list, timers) {
    const make = () => {
      const time = element("time", "left");
      time.setAttribute("role", "timer");
      return element("li", "timer", element("span", "what"), " ", time);
    };
    list.hidden = !timers.length;
    keep(list, timers, (timer) => timer.key, make, (node, { text, until }) => {
      write(part(node, "what"), text);
      node.dataset.until = until;
    });
  }

  /** Whether a timer has just run out. */
  tick(elapsed) {
    let ranOut = false;
    for (const timer of document.querySelectorAll("[data-until]")) {
      const left = timer.dataset.until - elapsed;
      ranOut ||= left <= 0 && timer.dataset.over !== "true";
      timer.dataset.over = left <= 0;
      write(part(timer, "left"), left > 0 ? hoursOf(left) : this.words.now);
      timer.style.setProperty("--left", Math.min(1, Math.max(0, left / TWO_HOURS_S)));
    }
    return ranOut;
  }

  cards(list, cards) {
    const make = () => element("li", "card", typed("p", "title"), typed("p", "effect"), typed("p", "deck"));
    list.hidden = !cards.length;
    keep(list, cards, (card) => card.id, make, (node, card) => {
      node.dataset.deck = card.deck;
      write(part(node, "title"), card.name);
      write(part(node, "effect"), card.effect);
      write(part(node, "deck"), this.deck(card.deck));
    });
  }

  opponents(opponents) {
    const { words } = this;
    const make = () => element("li", "person", typed("h3", "name"), element("ul", "facts"));
    document.querySelector("#foes").hidden = !opponents.length;
    keep(document.querySelector("#opponents"), opponents, (each) => each.id, make, (node, each) => {
      write(part(node, "name"), each.name);
      const defeated = each.defeated ? [{ key: "defeated", text: words.defeated, alarming: true }] : [];
      this.facts(part(node, "facts"), [{ key: "burns", text: words.burns, value: `${each.burns}/${each.burn_max}` }, ...defeated]);
    });
  }

  /** Newest first. */
  log(events) {
    const { words } = this;
    const at = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const undone = new Set(events.filter((event) => event.type === "undo").map((event) => event.data?.undone));
    const make = () => element("li", "event", element("time", "at"), " ", typed("p", "text"), " ", element("span", "mark"));
    keep(document.querySelector("#log"), events, (event) => event.id, make, (node, event) => {
      const secret = event.visibility !== "public";
      part(node, "at").dateTime = event.at;
      write(part(node, "at"), at.format(new Date(event.at)));
      write(part(node, "text"), event.text);
      write(part(node, "mark"), undone.has(event.id) ? words.taken_back : secret && !event.redacted ? words.secret : "");
      node.classList.toggle("undone", undone.has(event.id));
      node.classList.toggle("secret", secret);
    });
  }
}

const newPerson = () =>
  element(
    "li",
    "person",
    typed("h3", "name"),
    typed("p", "who"),
    element("ul", "facts"),
    element("ul", "timers"),
    element("ul", "cards"),
    element("p", "none"),
  );
