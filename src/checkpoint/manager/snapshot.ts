import { EspalierError } from "../../core/index.ts";
import { type Device, Tensor } from "../../engine/index.ts";
import { checkOwners, type Stateful, type StateTree } from "../../state/index.ts";
import { type ComponentImage, imageOf } from "../component/index.ts";

/**
 * The states of components frozen at one step, to be written while training goes on. It holds the tensors themselves,
 * not copies; `release` lets go of them.
 */
export class Snapshot {
  #images: ReadonlyMap<string, ComponentImage> | undefined;
  readonly bytes: number;

  /** @internal */
  constructor(images: ReadonlyMap<string, ComponentImage>) {
    this.#images = images;
    this.bytes = [...images.values()].reduce((sum, image) => sum + image.bytes, 0);
  }

  /** @internal */
  get images(): ReadonlyMap<string, ComponentImage> {
    if (this.#images) return this.#images;
    throw new EspalierError("SNAPSHOT_RELEASED", "this snapshot has been written or released already", {
      fix: "take a new one",
    });
  }

  /** @internal The device of its tensors. */
  get device(): Device | undefined {
    for (const { leaves } of this.images.values())
      for (const { source } of leaves) if (source instanceof Tensor) return source.device;
    return undefined;
  }

  /** Lets go of the tensors. Doing it twice does no harm. */
  release(): void {
    this.#images = undefined;
  }
}

/**
 * Freezes components at this step: asks all of them for their states at once, keeps tensors, which never change, and
 * copies everything else.
 *
 * @example
 * ```ts
 * const frozen = await snapshot(trainer.components);
 * const saved = manager.write(frozen, { counters }); // in the background
 * ```
 */
export async function snapshot(components: Readonly<Record<string, Stateful>>): Promise<Snapshot> {
  // Every state is asked for, and pictured, before anything is awaited: what comes later belongs to a later step.
  const pictures = Object.entries(components).map(([name, component]) => {
    const picture = (state: StateTree) => ({ name, state, image: imageIn(name, state, true) });
    const state = component.getState();
    return state instanceof Promise ? state.then(picture) : picture(state);
  });
  const all = await Promise.all(pictures);
  checkOwners(Object.fromEntries(all.map(({ name, state }) => [name, state])));
  return new Snapshot(new Map(all.map(({ name, image }) => [name, image])));
}

/**
 * A snapshot of states that are frozen already, such as those a task's `snapshot()` gives: nothing is copied, so
 * nobody may write to their arrays until it has been written.
 */
export function snapshotOf(states: Readonly<Record<string, StateTree>>): Snapshot {
  // First, as it says of which component a state is that cannot be saved.
  const images = Object.entries(states).map(([name, state]) => [name, imageIn(name, state, false)] as const);
  checkOwners(states);
  return new Snapshot(new Map(images));
}

function imageIn(name: string, state: StateTree, copyArrays: boolean): ComponentImage {
  try {
    return imageOf(state, copyArrays);
  } catch (cause) {
    if (!(cause instanceof EspalierError)) throw cause;
    const [what] = cause.message.split(` [${cause.code}]`);
    throw new EspalierError(cause.code, `component "${name}": ${what}`, {
      ...(cause.fix !== undefined && { fix: cause.fix }),
      cause,
    });
  }
}
