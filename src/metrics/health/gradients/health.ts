import { countInWords, EspalierError, isWorthSaying } from "../../../core/index.ts";
import type { Stateful, StateTree } from "../../../state/index.ts";
import type { GradientHealth } from "../../../trainer/index.ts";
import { figure } from "../figure.ts";
import type { Row } from "../row-watch.ts";
import { halted } from "./halted.ts";
import type { Ailment, GradientPlan } from "./options.ts";

/** What an update's gradients can be called. */
export type Symptom = "nan" | "infinite" | "exploding" | "vanishing";

/** How many of the last updates the greatest norm is of. */
const recent = 100;

type Saved = {
  readonly counts: Readonly<Record<Symptom, number>>;
  readonly streaks: Readonly<Record<Ailment, number>>;
  readonly norms: Float64Array;
  readonly skipped: number;
};

/** How the gradients of a run have been, update by update: counts, streaks, the last norms. */
export class GradientRecord implements Stateful {
  readonly #plan: GradientPlan;
  readonly #warn: (text: string) => void;
  #counts = { nan: 0, infinite: 0, exploding: 0, vanishing: 0 };
  #streaks = { notFinite: 0, exploding: 0, vanishing: 0 };
  /** The greatest number of each of the last updates, oldest first. */
  #norms: number[] = [];
  #skipped = 0;

  constructor(plan: GradientPlan, warn: (text: string) => void) {
    this.#plan = plan;
    this.#warn = warn;
  }

  get counts(): Readonly<Record<Symptom, number>> {
    return { ...this.#counts };
  }

  /** For the slot; undefined before the first update. */
  get health(): GradientHealth | undefined {
    const norm = this.#norms.at(-1);
    if (norm === undefined) return undefined;
    const finite = this.#norms.filter(Number.isFinite);
    const maxNorm = finite.length > 0 ? Math.max(...finite) : Number.NaN;
    return { norm, maxNorm, skipped: this.#skipped };
  }

  /** Takes one update in. Throws where it is one too many. */
  judge({ update, numbers, skipped }: Row): void {
    this.#skipped += skipped;
    const { vanishing, exploding, halt } = this.#plan;
    let [least, most, nan] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, false];
    for (const number of numbers) {
      if (Number.isNaN(number)) nan = true;
      if (number < least) least = number;
      if (number > most) most = number;
    }
    // A norm is never below 0; minus infinity can only be another value's.
    const infinite = most === Number.POSITIVE_INFINITY || least === Number.NEGATIVE_INFINITY;
    this.#norms.push(nan ? Number.NaN : most);
    if (this.#norms.length > recent) this.#norms.shift();
    let symptom: Symptom | undefined;
    if (nan) symptom = "nan";
    else if (infinite) symptom = "infinite";
    else if (most > exploding) symptom = "exploding";
    else if (least < vanishing) symptom = "vanishing";
    const ailment = symptom === "nan" || symptom === "infinite" ? "notFinite" : symptom;
    for (const each of Object.keys(this.#streaks) as Ailment[])
      this.#streaks[each] = each === ailment ? this.#streaks[each] + 1 : 0;
    if (!symptom || !ailment) return;
    const figureNow = this.#culprit(symptom, least, most);
    this.#tell(symptom, update, figureNow);
    if (this.#streaks[ailment] < halt[ailment]) return;
    const inRow = this.#streaks[ailment];
    this.#streaks[ailment] = 0;
    throw halted(ailment, { inRow, update, figure: figureNow, plan: this.#plan });
  }

  #culprit(symptom: Symptom, least: number, most: number): number {
    if (symptom === "nan") return Number.NaN;
    return symptom === "vanishing" || least === Number.NEGATIVE_INFINITY ? least : most;
  }

  #tell(symptom: Symptom, update: number, value: number): void {
    this.#counts[symptom]++;
    const count = this.#counts[symptom];
    if (!isWorthSaying(count)) return;
    const { values, vanishing, exploding } = this.#plan;
    const limits = { exploding: `, above ${exploding}`, vanishing: `, below ${vanishing}` };
    const limit = symptom === "exploding" || symptom === "vanishing" ? limits[symptom] : "";
    const words = {
      nan: "not a number",
      infinite: "infinite",
      exploding: "exploding",
      vanishing: "vanishing",
    };
    this.#warn(
      `gradients ${words[symptom]} in update ${update}: ${values.join(", ")} ${figure(value)}${limit} ` +
        `(${countInWords(count)})`,
    );
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.#counts = { nan: 0, infinite: 0, exploding: 0, vanishing: 0 };
    this.#streaks = { notFinite: 0, exploding: 0, vanishing: 0 };
    this.#norms = [];
    this.#skipped = 0;
  }

  getState(): StateTree {
    return {
      counts: this.counts,
      streaks: { ...this.#streaks },
      norms: Float64Array.from(this.#norms),
      skipped: this.#skipped,
    };
  }

  setState(state: StateTree): void {
    const { counts, streaks, norms, skipped } = (state ?? {}) as Partial<Saved>;
    if (!counts || !streaks || !(norms instanceof Float64Array) || skipped === undefined)
      throw new EspalierError("STATE_INVALID", "this is not the state of a gradient monitor", {
        fix: "restore what a gradientMonitor gave",
      });
    this.#counts = { ...this.#counts, ...counts };
    this.#streaks = { ...this.#streaks, ...streaks };
    this.#norms = [...norms];
    this.#skipped = skipped;
  }
}
