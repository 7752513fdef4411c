import { badOption, checkNames, checkSize, shown } from "../../../core/index.ts";
import type { TrainerContext } from "../../../trainer/index.ts";

/** A loss that stands out. */
export type LossSpike = {
  /** Updates attempted up to and with this one, and batches. */
  readonly update: number;
  readonly batch: number;
  readonly loss: number;
  /** The median of the losses before it, and what it would have had to stay below. */
  readonly median: number;
  readonly limit: number;
  /** The how manieth spike of the run it is. */
  readonly count: number;
};

/** Options of {@link lossSpikeDetector}. */
export interface LossSpikeOptions {
  /** Default `lossSpikes`. */
  readonly name?: string;
  /** The value of each batch that is looked at. Default `loss`. */
  readonly value?: string;
  /** How many finite losses before it a loss is compared with. Nothing is judged before there are so many. Default 10. */
  readonly window?: number;
  /** A loss above so many times their median is a spike. Default 2. */
  readonly factor?: number;
  /**
   * Called for each spike, in order, when the call of the task after it is under way or the run ends. A resumed run
   * calls it again for those that the saved one had not been able to yet.
   */
  readonly onSpike?: (context: TrainerContext, spike: LossSpike) => unknown;
  /** After how many spikes in a row the run fails; at most half the window. Default: never. */
  readonly halt?: number;
}

/** The options with everything filled in. */
export interface SpikePlan {
  readonly name: string;
  readonly value: string;
  readonly window: number;
  readonly factor: number;
  readonly onSpike: LossSpikeOptions["onSpike"];
  /** Infinity for never. */
  readonly halt: number;
}

const kind = "lossSpikeDetector";

/** Completes and checks what the hook is made with. */
export function planOf(options: LossSpikeOptions): SpikePlan {
  checkNames(kind, options, ["name", "value", "window", "factor", "onSpike", "halt"]);
  const { name = "lossSpikes", value = "loss", factor = 2, onSpike } = options;
  const window = checkSize(kind, "window", options.window ?? 10);
  if (typeof value !== "string" || value === "")
    throw badOption(kind, `value is ${shown(value)}`, 'name a value that the task reports: value: "loss"');
  if (!(typeof factor === "number" && factor > 1 && Number.isFinite(factor)))
    throw badOption(kind, `factor is ${shown(factor)}`, "give a number above 1, such as 2");
  if (onSpike !== undefined && typeof onSpike !== "function")
    throw badOption(kind, `onSpike is ${shown(onSpike)}`, "give a function of context and spike");
  const halt = options.halt === undefined ? Number.POSITIVE_INFINITY : checkSize(kind, "halt", options.halt);
  // Once half of the window is spikes, they are what is usual.
  if (Number.isFinite(halt) && halt > Math.max(1, Math.floor(window / 2)))
    throw badOption(
      kind,
      `halt is ${halt}, and of a window of ${window} no more than half can be spikes`,
      `give at most ${Math.max(1, Math.floor(window / 2))}, or a wider window`,
    );
  return { name, value, window, factor, onSpike, halt };
}
