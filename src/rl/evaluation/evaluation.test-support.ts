import { np, type Value } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Environment, Reset, ResetOptions, Step } from "../environments/environment.ts";
import { buildPolicy } from "../policies/build.ts";
import type { Distribution, Policy, PolicySpaces } from "../policies/policy.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";
import type { Player } from "./player.ts";

/** What environments were told, for tests to look at. */
export interface Heard {
  readonly index: number;
  readonly resets: (ResetOptions | undefined)[];
  readonly actions: SpaceValue[];
}

/** What an environment for tests does, of its seed, its step within the episode, and what was done. */
export interface Script {
  readonly name: string;
  readonly observationSpace?: Space;
  readonly actionSpace?: Space;
  readonly agents?: number;
  readonly lessons?: readonly string[];
  /** Steps of an episode; 3 to 12, by its seed, unless told. */
  readonly length?: (seed: number, lesson: number) => number;
  readonly observe?: (now: Now) => SpaceValue | readonly SpaceValue[];
  readonly reward?: (now: Now, action: SpaceValue | readonly SpaceValue[]) => number | readonly number[];
  readonly mask?: (now: Now) => Uint8Array;
  /** Whether episodes are terminated, and not truncated. */
  readonly terminates?: boolean;
}

export interface Now {
  readonly seed: number;
  readonly lesson: number;
  readonly step: number;
  /** A number that follows from the seed and all actions. */
  readonly x: number;
}

/** Environments that do as a script says, and write down what they are told. */
export function scripted(script: Script): { readonly make: () => Environment; readonly heard: Heard[] } {
  const heard: Heard[] = [];
  return {
    heard,
    make: () => {
      const own: Heard = { index: heard.length, resets: [], actions: [] };
      heard.push(own);
      return new Scripted(script, own);
    },
  };
}

const box: Space = { kind: "box", shape: [2], low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
const steer: Space = { kind: "box", shape: [1], low: -1, high: 1 };

class Scripted implements Environment {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly agents: number;
  readonly lessons?: readonly string[];
  readonly #script: Script;
  readonly #heard: Heard;
  #now: Now = { seed: 0, lesson: 0, step: 0, x: 0 };

  constructor(script: Script, heard: Heard) {
    this.#script = script;
    this.#heard = heard;
    this.name = script.name;
    this.observationSpace = script.observationSpace ?? box;
    this.actionSpace = script.actionSpace ?? steer;
    this.agents = script.agents ?? 1;
    if (script.lessons) this.lessons = script.lessons;
  }

  reset(options: ResetOptions = {}): Reset<SpaceValue | readonly SpaceValue[]> {
    this.#heard.resets.push(options);
    const { seed = 0, lesson = 0 } = options;
    this.#now = { seed, lesson, step: 0, x: Math.sin(seed) };
    return this.#seen();
  }

  step(
    action: SpaceValue | readonly SpaceValue[],
  ): Step<SpaceValue | readonly SpaceValue[], number | readonly number[]> {
    this.#heard.actions.push(action as SpaceValue);
    const { seed, lesson, step, x } = this.#now;
    const reward = this.#script.reward?.(this.#now, action) ?? x;
    const done = Number((action as ArrayLike<number>)[0] ?? action);
    this.#now = { seed, lesson, step: step + 1, x: Math.fround(Math.sin(3 * x) + done) };
    const ended = step + 1 >= (this.#script.length?.(seed, lesson) ?? 3 + (seed % 10));
    const terminated = ended && this.#script.terminates === true;
    return { ...this.#seen(), reward, terminated, truncated: ended && !terminated };
  }

  #seen(): Reset<SpaceValue | readonly SpaceValue[]> {
    const { mask, observe = ({ x, step }: Now) => [x, step / 10] } = this.#script;
    return { observation: observe(this.#now), ...(mask && { actionMask: mask(this.#now) }) };
  }

  getState = (): StateTree => ({ ...this.#now });
  setState(state: StateTree): void {
    this.#now = state as unknown as Now;
  }
}

/** An environment whose returns follow from every bit of every action, for other threads and processes, too. */
export const makeDrift = (): Environment => scripted({ name: "Drift" }).make();

/** One with lessons: the second gives nothing. */
export const makeLessons = (): Environment =>
  scripted({
    name: "Lessons",
    lessons: ["easy", "hard"],
    length: (_, lesson) => 2 + lesson,
    reward: ({ lesson }) => (lesson === 0 ? 1 : 0),
  }).make();

export const makeEndless = (): Environment =>
  scripted({ name: "Endless", length: () => Number.POSITIVE_INFINITY }).make();

export const makeBroken = (): Environment =>
  scripted({
    name: "Broken",
    reward: ({ step }) => {
      if (step === 2) throw new Error("it came apart");
      return 0;
    },
  }).make();

/** What nobody can call. */
export class Classy {}

/** Where these are, for others who are to make them. */
export const here = (name: string): { readonly module: string; readonly name: string } => ({
  module: import.meta.url,
  name,
});

/** A policy of dense layers, as runs have it. */
export function densePlayer(
  make: () => Environment,
  seed = 0,
  spec: Policy["spec"] = { encoder: { kind: "mlp", hidden: [16, 16] } },
  engine: "wasm" | "xla" = "wasm",
): { readonly player: Player; readonly state: Readonly<Record<string, StateTree>> } {
  const policy = buildPolicy(spec, make());
  const params = policy.init(seed, { engine });
  return { player: { policy, reads: ["params"] }, state: { params: params as StateTree } };
}

/** What is drawn is what the parameters say; the mode and the sample are one. */
const plain = (actions: number): Distribution => ({
  kind: "plain",
  parameters: actions,
  actions,
  sample: (parameters) => parameters,
  mode: (parameters) => parameters,
  logProb: (parameters) => np.sum(np.multiply(parameters, 0), { axis: -1 }),
  entropy: (parameters) => np.sum(np.multiply(parameters, 0), { axis: -1 }),
  kl: (p) => np.sum(np.multiply(p, 0), { axis: -1 }),
  act: (action) => action,
});

/** A policy that counts the steps since its episode began, by remembering, and does that number. */
export function countingPolicy({ observationSpace, actionSpace }: PolicySpaces): Policy {
  const step: Policy["step"] = (_, { state, reset }) => {
    const before = np.where(reset, 0, state.count as Value);
    const count = np.add(before, 1);
    return { parameters: np.reshape(count, [-1, 1]), value: count, state: { count } };
  };
  return {
    spec: {},
    ...{ observationSpace, actionSpace },
    distribution: plain(1),
    recurrent: true,
    convolves: false,
    init: () => ({}),
    initialState: (rows) => ({ count: np.full([rows], 1000) }),
    step,
    unroll: () => {
      throw new Error("not for tests");
    },
  };
}

/** A policy that does what it sees. */
export function echoPolicy({ observationSpace, actionSpace }: PolicySpaces, actions = 1): Policy {
  return {
    spec: {},
    ...{ observationSpace, actionSpace },
    distribution: plain(actions),
    recurrent: false,
    convolves: false,
    init: () => ({}),
    initialState: () => ({}),
    step: (_, { observation }) => ({
      parameters: observation,
      value: np.sum(observation, { axis: -1 }),
      state: {},
    }),
    unroll: () => {
      throw new Error("not for tests");
    },
  };
}
