import type { Counters } from "../../schedule/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import type { RunProgress } from "../run-info.ts";

/** After so many seconds, what was before counts by a third. */
const memory = 15;

interface Place {
  readonly counters: Counters;
  readonly epochShare: number;
}

/** What a run counts towards. */
interface Goal {
  readonly unit: "epochs" | "updates" | "samples" | "seconds";
  readonly total: number;
}

/** How far a run is, how fast it goes and when it will be done: by the goal that it will reach first. */
export class ProgressMeter {
  readonly #goals: readonly Goal[];
  #last: Place;
  /** Sums in which the past fades: seconds, steps and each goal's unit. Their quotients are rates. */
  #seconds = 0;
  #steps = 0;
  #done: readonly number[];

  /** Begins to count: rates are of this process. */
  constructor(context: TrainerContext) {
    const { epochs, maxUpdates, maxSamples, maxSeconds } = context.config;
    const goals: readonly Goal[] = [
      { unit: "epochs", total: epochs },
      { unit: "updates", total: maxUpdates },
      { unit: "samples", total: maxSamples },
      { unit: "seconds", total: maxSeconds },
    ];
    this.#goals = goals.filter(({ total }) => Number.isFinite(total));
    this.#done = this.#goals.map(() => 0);
    this.#last = placeOf(context);
  }

  look(context: TrainerContext): RunProgress {
    const now = placeOf(context);
    const { counters } = now;
    this.#count(now);
    const rate = this.#seconds > 0 ? this.#steps / this.#seconds : undefined;
    const shares = this.#goals.map(({ unit, total }) => (total > 0 ? doneOf(unit, now) / total : 1));
    const nearest = shares.indexOf(Math.max(...shares));
    const goal = this.#goals[nearest];
    if (!goal)
      return { counters, unit: "steps", done: counters.steps, total: undefined, rate, left: undefined };
    const { unit, total } = goal;
    const done = Math.min(total, doneOf(unit, now));
    const pace = (this.#done[nearest] as number) / this.#seconds;
    return { counters, unit, done, total, rate, left: pace > 0 ? (total - done) / pace : undefined };
  }

  #count(now: Place): void {
    const last = this.#last;
    const passed = now.counters.seconds - last.counters.seconds;
    if (!(passed > 0)) return;
    this.#last = now;
    const kept = Math.exp(-passed / memory);
    this.#seconds = this.#seconds * kept + passed;
    this.#steps = this.#steps * kept + now.counters.steps - last.counters.steps;
    this.#done = this.#done.map((sum, i) => {
      const { unit } = this.#goals[i] as Goal;
      return sum * kept + doneOf(unit, now) - doneOf(unit, last);
    });
  }
}

const placeOf = ({ counters, state }: TrainerContext): Place => ({ counters, epochShare: state.epochShare });

const doneOf = (unit: Goal["unit"], { counters, epochShare }: Place): number =>
  unit === "epochs" ? counters.epochs + epochShare : counters[unit];
