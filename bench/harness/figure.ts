/** The implementations that ours is compared with, as tables call them. What each needs stands in `peers.ts`. */
export const peerLabels = {
  jax: "JAX",
  torch: "PyTorch",
  jaxjs: "jax-js",
  lightning: "Lightning",
  bare: "a bare loop",
  memory: "from memory",
  plain: "plain files",
  safetensors: "safetensors",
  summaryWriter: "SummaryWriter and sqlite3",
  torchPpo: "PPO in PyTorch",
  jaxPpo: "PPO in JAX",
  sb3: "Stable-Baselines3",
  nats: "bare NATS",
} as const;
export type PeerName = keyof typeof peerLabels;

/** A piece of work that is set up and ready to be timed. */
export interface Subject {
  /** Does the work so many times, waits for the results, and gives the seconds it took. */
  run(steps: number): Promise<number>;
  /** A number that the same work gives in every implementation. Where they differ, times are not compared. */
  readonly check?: number;
  /** Lets go of what the work holds. */
  dispose?(): void | Promise<void>;
}

/** Something that gives a number for each seed, or whatever its samples are numbered by. */
export interface Sampler {
  sample(index: number): Promise<number>;
  dispose?(): void | Promise<void>;
}

/** Work that a peer's script knows by name; `params` is JSON and goes to it as it is. */
export interface PeerCase {
  /** A file of `bench/peers/`. */
  readonly script: string;
  readonly case: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export type Limit =
  | { readonly atMost: number }
  | { readonly below: number }
  | { readonly atLeast: number }
  | { readonly above: number };

interface Ratio {
  readonly kind: "ratio";
  readonly against: PeerName;
  /** Our worst round instead of our median, against the same median of theirs. */
  readonly worst?: boolean;
}

interface Absolute {
  readonly kind: "absolute";
  /** The document that asks for it, where it is not the project's own bar. */
  readonly asked?: string;
}

/** Our mean lies no further from the peer's than one standard deviation of the peer's samples. */
interface Spread {
  readonly kind: "spread";
  readonly against: PeerName;
}

/** What a figure must reach: a ratio of ours to a peer's median, or a number in the figure's own unit. */
export type Bar = (Ratio & Limit) | (Absolute & Limit) | Spread;

/** What a figure of ours runs on; `host` where no math is run. */
export type FigureEngine = "xla" | "wasm" | "host";

export type TimeUnit = "us" | "ms" | "s";
/** Work a second instead of time; a step is a frame. */
export type RateUnit = "frames/s";
export type CountUnit = "MB" | "kB" | "ms" | "s" | "frames/s" | "tensors" | "return" | "%";

interface AnyFigure {
  readonly name: string;
  /** What ours runs on; `--engine` chooses by it. */
  readonly engine: FigureEngine;
  readonly bars: readonly Bar[];
}

/** How long a piece of work takes: batches of steps, ours and the peers' in turn, the median of all rounds. */
export interface TimedFigure extends AnyFigure {
  readonly kind: "timed";
  readonly unit: TimeUnit | RateUnit;
  readonly ours: () => Promise<Subject>;
  readonly peers: Readonly<Partial<Record<PeerName, PeerCase>>>;
  /** Steps a batch, where they are not to be found by trying. */
  readonly steps?: number;
  /** Rounds, where they are not the run's. */
  readonly rounds?: number;
}

/** Something counted rather than timed, once, in its own unit. */
export interface CountedFigure extends AnyFigure {
  readonly kind: "counted";
  readonly unit: CountUnit;
  readonly ours: (options: { readonly quick: boolean }) => Promise<number>;
}

/** Something counted that depends on chance: a sample for each seed from 1, ours and the peers' in turn, and their mean. */
export interface SampledFigure extends AnyFigure {
  readonly kind: "sampled";
  readonly unit: CountUnit;
  readonly samples: number;
  readonly ours: () => Promise<Sampler>;
  readonly peers: Readonly<Partial<Record<PeerName, PeerCase>>>;
}

/** A bench is a list of these. */
export type Figure = TimedFigure | CountedFigure | SampledFigure;
