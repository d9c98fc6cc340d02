/** Dice that were thrown elsewhere, as Foundry takes them: only what its documents say of `Roll.fromData`. */

const TERMS = /** @type {Record<string, (data: any) => any>} */ ({
  Die: (data) => new Die(data),
  OperatorTerm: (data) => ({ operator: operator(data.operator), expression: data.operator, options: data.options }),
});

function operator(/** @type {string} */ sign) {
  if (sign !== "+") throw new Error(`no operator: ${sign}`);
  return sign;
}

class Die {
  /** @param {any} data */
  constructor({ number, faces, modifiers, results, options }) {
    this.number = number;
    this.faces = faces;
    this.results = /** @type {any[]} */ (results);
    this.modifiers = /** @type {string[]} */ (modifiers);
    this.options = options;
  }

  get expression() {
    return `${this.number}d${this.faces}${this.modifiers.join("")}`;
  }

  /** Counted where a modifier counts successes, else added up. */
  get total() {
    const least = this.modifiers.map((each) => /^cs>=(\d+)$/.exec(each)?.[1]).find(Boolean);
    const kept = this.results.filter(({ active }) => active);
    if (least) return kept.filter(({ result }) => result >= Number(least)).length;
    return kept.reduce((sum, { result }) => sum + result, 0);
  }

  /** How Dice So Nice throws them: `number` dice, then as many as have exploded, and so on. */
  get waves() {
    const waves = [];
    for (let from = 0, size = this.number; size; ) {
      const wave = this.results.slice(from, from + size);
      waves.push(wave.map(({ result }) => result));
      from += size;
      size = wave.filter(({ exploded }) => exploded).length;
    }
    return waves;
  }
}

class StandInRoll {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.terms = /** @type {any[]} */ (data.terms).map((each) => {
      const make = TERMS[each.class];
      if (!make) throw new Error(`no such term: ${each.class}`);
      return make(each);
    });
  }

  /** @param {any} data */
  static fromData(data) {
    if (data.class !== "Roll" || !data.evaluated || !Array.isArray(data.dice)) throw new Error("not an evaluated roll");
    const roll = new StandInRoll(data);
    const formula = roll.terms.map(({ expression }) => expression).join(" ");
    if (formula !== data.formula) throw new Error(`${data.formula} is not ${formula}`);
    const total = roll.dice.reduce((sum, die) => sum + die.total, 0);
    if (total !== data.total) throw new Error(`${data.total} is not ${total}`);
    return roll;
  }

  /** @returns {Die[]} */
  get dice() {
    return this.terms.filter((term) => term instanceof Die);
  }

  get total() {
    return this.data.total;
  }

  toJSON() {
    return this.data;
  }

  async render() {
    const faces = this.dice.map(
      ({ results, options }) =>
        `<ol class="dice-faces ${options.colorset ?? ""}">${results
          .map(({ result, success }) => `<li class="${success ? "success" : ""}">${result}</li>`)
          .join("")}</ol>`,
    );
    const formula = `<div class="dice-formula">${this.data.formula}</div>`;
    return `<div class="dice-roll">${formula}${faces.join("")}<h4 class="dice-total">${this.total}</h4></div>`;
  }
}

/** @satisfies {Partial<Record<keyof typeof Roll, unknown>>} */
const known = { fromData: StandInRoll.fromData };
export const RollClass = Object.assign(StandInRoll, known);
