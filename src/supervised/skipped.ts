import { EspalierError, unflatten } from "../core/index.ts";
import type { TensorState } from "../learner/index.ts";
import { type OptimizerState, valueIn } from "../optim/index.ts";

/**
 * Tells of updates that did not take effect, where the optimizer leaves some out: without a word, a run in which none
 * did would look completed. It reads the optimizer's count when it is asked to look, and never on the way.
 */
export class SkippedUpdates {
  readonly #state: TensorState<OptimizerState>;
  /** The place of the count among the state's leaves. */
  readonly #leaf: number | undefined;
  #said = 0;

  constructor(state: TensorState<OptimizerState>) {
    this.#state = state;
    this.#leaf = placeOf(state);
  }

  /** Whether there was something to tell. */
  get told(): boolean {
    return this.#said > 0;
  }

  /** `attempted` updates so far. */
  async look(attempted: number, warn: (text: string) => void): Promise<void> {
    if (this.#leaf === undefined) return;
    const skipped = Number((await this.#state.readLeaf(this.#leaf))[0]);
    if (skipped <= this.#said) return;
    this.#said = skipped;
    warn(
      `${skipped} of ${attempted} updates were not applied, because their gradients were not finite (skipNonFinite). ` +
        "To find out why: look for inputs and targets that are not finite or out of range, lower the learning rate, " +
        "and see where it begins: the hook gradientMonitor() with monitor: { gradients: true } names the update",
    );
  }
}

function placeOf({ packing }: TensorState<OptimizerState>): number | undefined {
  const places = unflatten(
    packing.shape,
    packing.types.map((_, leaf) => leaf),
  );
  try {
    return valueIn(places as never, "skipped") as number;
  } catch (error) {
    if (error instanceof EspalierError) return undefined;
    throw error;
  }
}
