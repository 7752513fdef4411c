import { countInWords, EspalierError, isWorthSaying } from "../../../core/index.ts";
import type { Stateful, StateTree } from "../../../state/index.ts";
import { figure } from "../figure.ts";
import type { Row } from "../row-watch.ts";
import { limitOf } from "./limit.ts";
import type { LossSpike, SpikePlan } from "./options.ts";

type Saved = {
  readonly losses: Float64Array;
  readonly spikes: number;
  readonly notFinite: number;
  readonly inRow: number;
  readonly untold: readonly LossSpike[];
};

/** The last losses of a run, and the spikes among all of them. */
export class SpikeRecord implements Stateful {
  spikes = 0;
  notFinite = 0;
  readonly #plan: SpikePlan;
  readonly #warn: (text: string) => void;
  /** The last finite losses, oldest first. */
  #losses: number[] = [];
  #inRow = 0;
  /** Spikes that `onSpike` has not been called for. */
  #untold: LossSpike[] = [];

  constructor(plan: SpikePlan, warn: (text: string) => void) {
    this.#plan = plan;
    this.#warn = warn;
  }

  /** Whether any loss was judged. */
  get begun(): boolean {
    return this.#losses.length > 0 || this.notFinite > 0;
  }

  /** Takes one batch in. Throws where it is one spike too many. */
  judge({ update, batch, numbers }: Row): void {
    const loss = numbers[0] as number;
    const { window, factor, halt, onSpike, value } = this.#plan;
    if (!Number.isFinite(loss)) {
      this.notFinite++;
      if (isWorthSaying(this.notFinite))
        this.#warn(`${value} is ${loss} in update ${update} (${countInWords(this.notFinite)})`);
      return;
    }
    const { median, limit } =
      this.#losses.length === window
        ? limitOf(this.#losses, factor)
        : { median: Number.NaN, limit: Number.POSITIVE_INFINITY };
    this.#losses.push(loss);
    if (this.#losses.length > window) this.#losses.shift();
    if (!(loss > limit)) {
      this.#inRow = 0;
      return;
    }
    this.spikes++;
    this.#inRow++;
    const spike = { update, batch, loss, median, limit, count: this.spikes };
    if (onSpike) this.#untold.push(spike);
    const what = `${value} ${figure(loss)} in update ${update} is above ${figure(limit)}: the median of the last ${window} is ${figure(median)}`;
    if (isWorthSaying(this.spikes)) this.#warn(`${what} (${countInWords(this.spikes)})`);
    if (this.#inRow < halt) return;
    const inRow = this.#inRow;
    this.#inRow = 0;
    throw tooMany(inRow, what, update, this.#plan);
  }

  /** The spikes that nobody has been told of, which then have been. */
  take(): readonly LossSpike[] {
    return this.#untold.splice(0);
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.setState({ losses: new Float64Array(), spikes: 0, notFinite: 0, inRow: 0, untold: [] });
  }

  getState(): StateTree {
    const { spikes, notFinite } = this;
    const untold = this.#untold.map((spike) => ({ ...spike }));
    return { losses: Float64Array.from(this.#losses), spikes, notFinite, inRow: this.#inRow, untold };
  }

  setState(state: StateTree): void {
    const { losses, spikes, notFinite, inRow, untold } = (state ?? {}) as Partial<Saved>;
    if (
      !(losses instanceof Float64Array) ||
      spikes === undefined ||
      notFinite === undefined ||
      inRow === undefined ||
      !Array.isArray(untold)
    )
      throw new EspalierError("STATE_INVALID", "this is not the state of a loss-spike detector", {
        fix: "restore what a lossSpikeDetector gave",
      });
    // A narrower window than before takes the newest.
    this.#losses = [...losses].slice(-this.#plan.window);
    this.spikes = spikes;
    this.notFinite = notFinite;
    this.#inRow = inRow;
    this.#untold = [...untold];
  }
}

const tooMany = (inRow: number, what: string, update: number, { name }: SpikePlan): EspalierError =>
  new EspalierError("LOSS_SPIKES", `${inRow === 1 ? "" : `${inRow} spikes in a row; `}${what}`, {
    fix:
      "lower the learning rate, clip gradients by optim.clipByGlobalNorm, look at the batches that came then, and go " +
      `on from the last checkpoint; \`halt\` of ${name} says how many are borne`,
    update,
  });
