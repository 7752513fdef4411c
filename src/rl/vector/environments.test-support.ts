import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Environment, ResetOptions } from "../environments/environment.ts";
import type { Space } from "../spaces/space.ts";

// Small environments for tests of vectors. Threads import this file, so it imports nothing that is slow to load.

const box = (shape: readonly number[]): Space => ({ kind: "box", shape, low: -1e9, high: 1e9 });

/** Numbers that follow from a seed: enough for tests. */
function next(word: number): number {
  const a = Math.imul(word ^ (word >>> 15), 0x2c1b3c6d);
  const b = Math.imul(a ^ (a >>> 12), 0x297a2d39);
  return ((b ^ (b >>> 15)) + 0x9e3779b9) >>> 0;
}

interface Walk {
  readonly word: number;
  readonly t: number;
  readonly length: number;
  readonly lesson: number;
}

/** Episodes of random lengths, ended either way or both at once, with rewards that depend on everything before. */
export class Wanderer implements Environment {
  readonly name: string = "Wanderer";
  readonly observationSpace: Space = box([3]);
  readonly actionSpace: Space = { kind: "discrete", n: 4 };
  readonly lessons = ["short", "long"];
  closed = 0;
  protected walk: Walk = { word: 1, t: 0, length: 0, lesson: 0 };

  reset({ seed, lesson = 0 }: ResetOptions = {}) {
    const word = next(seed ?? this.walk.word);
    this.walk = { word, t: 0, length: 1 + (word % (lesson === 0 ? 4 : 12)), lesson };
    return { observation: this.observe() };
  }

  step(action: unknown) {
    const word = next(this.walk.word ^ (action as number));
    this.walk = { ...this.walk, word, t: this.walk.t + 1 };
    const over = this.walk.t >= this.walk.length;
    return {
      observation: this.observe(),
      reward: (word % 1000) / 7,
      terminated: over && word % 3 !== 0,
      truncated: over && word % 3 !== 1,
    };
  }

  getState(): StateTree {
    return { ...this.walk };
  }

  setState(state: StateTree): void {
    this.walk = { ...(state as unknown as Walk) };
  }

  close(): void {
    this.closed++;
  }

  protected observe(): Float32Array {
    return Float32Array.of(this.walk.word % 4096, this.walk.t, this.walk.lesson);
  }
}

export const makeWanderer = (): Environment => new Wanderer();

/** Two agents that see and earn different things, and may not always do everything. */
export class Pair implements Environment {
  readonly name = "Pair";
  readonly observationSpace = box([2]);
  readonly actionSpace: Space = { kind: "multiDiscrete", choices: [2, 3] };
  readonly agents = 2;
  #word = 1;
  #t = 0;

  reset({ seed }: ResetOptions = {}) {
    this.#word = next(seed ?? this.#word);
    this.#t = 0;
    return this.#now();
  }

  step(actions: unknown) {
    const [a, b] = actions as readonly Int32Array[];
    this.#word = next(
      this.#word ^ ((a?.[0] ?? 9) + 2 * (a?.[1] ?? 9)) ^ (64 * (b?.[0] ?? 9) + 128 * (b?.[1] ?? 9)),
    );
    this.#t++;
    const reward = [this.#word % 5, -(this.#word % 7)];
    return { ...this.#now(), reward, terminated: this.#word % 6 === 0, truncated: this.#t === 9 };
  }

  getState(): StateTree {
    return { word: this.#word, t: this.#t };
  }

  setState(state: StateTree): void {
    const { word, t } = state as { readonly word: number; readonly t: number };
    this.#word = word;
    this.#t = t;
  }

  #now() {
    const first = this.#word % 2;
    return {
      observation: [Float32Array.of(this.#word % 512, this.#t), [this.#t, -(this.#word % 512)]],
      actionMask: Uint8Array.of(first, 1 - first, 1, 0, first, 1, 1, 1, first, 0),
    };
  }
}

export const makePair = (): Environment => new Pair();

/** What a Fragile does wrong when it is given the action of that place. Actions 0 and 1 are harmless. */
export const faults = [
  "none",
  "nothing",
  "NaN",
  "shape",
  "missing",
  "truncated",
  "terminated",
  "reward",
  "mask",
  "throw",
  "hang",
  "exit",
  "invalid",
  "undefined",
] as const;

export type FaultName = (typeof faults)[number];
export const actionOf = (fault: FaultName): number => faults.indexOf(fault);

/** A Wanderer with long episodes that goes wrong on demand. */
export class Fragile extends Wanderer {
  override readonly name = "Fragile";
  override readonly actionSpace: Space = { kind: "discrete", n: faults.length };

  override reset(options: ResetOptions = {}) {
    const begun = super.reset(options);
    this.walk = { ...this.walk, length: 40 };
    return { ...begun, actionMask: new Uint8Array(faults.length).fill(1) };
  }

  override step(action: unknown) {
    const fault = faults[action as number] as FaultName;
    const step = super.step((action as number) % 2);
    if (fault === "throw") throw new TypeError("out of order");
    if (fault === "invalid")
      throw new EspalierError("ENVIRONMENT_INVALID", "Fragile: knows itself", { fix: "mend it" });
    if (fault === "exit") process.exit(3);
    while (fault === "hang");
    const wrong = {
      none: {},
      nothing: {},
      NaN: { observation: Float32Array.of(0, Number.NaN, 0) },
      shape: { observation: new Float32Array(4) },
      missing: { observation: undefined },
      truncated: { truncated: undefined },
      terminated: { terminated: 1 },
      reward: { reward: Number.NaN },
      mask: { actionMask: new Uint8Array(3) },
      undefined: {},
    }[fault];
    return (fault === "undefined" ? undefined : { ...step, ...wrong }) as typeof step;
  }
}

export const makeFragile = (): Environment => new Fragile();

/** Hangs when it begins its third episode. */
export class Sleeper extends Wanderer {
  override readonly name = "Sleeper";
  override reset(options: ResetOptions = {}) {
    while (this.#episodes === 2);
    this.#episodes++;
    return super.reset(options);
  }
  #episodes = 0;
  override getState(): StateTree {
    return { walk: { ...this.walk }, episodes: this.#episodes };
  }
  override setState(state: StateTree): void {
    const { walk, episodes } = state as unknown as { readonly walk: Walk; readonly episodes: number };
    this.walk = { ...walk };
    this.#episodes = episodes;
  }
}

/** The environment of index 1 is a Sleeper. */
export const makeSleeper = (index: number): Environment => (index === 1 ? new Sleeper() : new Wanderer());

/** Forgets its random numbers in its state. */
export class Forgetful extends Fragile {
  override getState(): StateTree {
    return { ...this.walk, word: 5 };
  }
}

/** The environment of index 2 is a Forgetful. */
export const makeForgetful = (index: number): Environment => (index === 2 ? new Forgetful() : new Fragile());

/** Fails as a Fragile does, and tells numbers of its steps: one always, one at times, one that is none. */
export class Telling extends Fragile {
  override step(action: unknown) {
    const step = super.step(action);
    const { word, t } = this.walk;
    const rare = t % 3 === 0 ? { rare: word / 7 } : {};
    return { ...step, info: { word: word / 3, ...rare, wrong: Number.NaN, text: "walks" } };
  }
}

/** A Wanderer that tells a number of each step, and another and a flag of an episode's last. */
export class Reporting extends Wanderer {
  override step(action: unknown) {
    const step = super.step(action);
    const over = step.terminated || step.truncated;
    return {
      ...step,
      info: { word: this.walk.word / 3, ...(over && { final: this.walk.t, far: this.walk.t > 3 }) },
    };
  }
}

export const makeReporting = (): Environment => new Reporting();

export const makeTelling = (): Environment => new Telling();

/** Its numbers lie from -9 to 9, but for the third step of environments from 2 on, which shows more. */
export class Stray extends Wanderer {
  override readonly observationSpace = { kind: "box", shape: [3], low: -9, high: 9 } as const;
  readonly index: number;

  constructor(index: number) {
    super();
    this.index = index;
  }

  protected override observe(): Float32Array {
    return Float32Array.of(0, this.index >= 2 && this.walk.t === 3 ? 9.5 : 0, 0);
  }

  override reset(options: ResetOptions = {}) {
    const begun = super.reset(options);
    this.walk = { ...this.walk, length: 40 };
    return begun;
  }
}

export const makeStray = (index: number): Environment => new Stray(index);

/** Prints its steps. */
class Printing extends Wanderer {
  readonly index: number;

  constructor(index: number) {
    super();
    this.index = index;
  }

  override step(action: unknown) {
    process.stdout.write(`${this.index} steps\n`);
    return super.step(action);
  }
}

export const makePrinting = (index: number): Environment => new Printing(index);

/** Cannot be made. */
export function makeNothing(): Environment {
  throw new RangeError("no such world");
}
