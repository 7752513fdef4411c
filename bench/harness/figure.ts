/** The implementations that ours is compared with, as tables call them. What each needs stands in `peers.ts`. */
export const peerLabels = {
  jax: "JAX",
  torch: "PyTorch",
  jaxjs: "jax-js",
  lightning: "Lightning",
  bare: "a bare loop",
  plain: "plain files",
  safetensors: "safetensors",
  summaryWriter: "SummaryWriter and sqlite3",
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

/** Work that a peer's script knows by name; `params` is JSON and goes to it as it is. */
export interface PeerCase {
  /** A file of `bench/peers/`. */
  readonly script: string;
  readonly case: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What a figure must reach: a ratio of ours to a peer's median, or a number in the figure's own unit. */
export type Bar =
  | { readonly kind: "ratio"; readonly against: PeerName; readonly atMost: number }
  | { readonly kind: "ratio"; readonly against: PeerName; readonly below: number }
  | {
      readonly kind: "absolute";
      readonly atMost: number;
      /** The document that asks for it, where it is not the project's own bar. */
      readonly asked?: string;
    };

/** What a figure of ours runs on; `host` where no math is run. */
export type FigureEngine = "xla" | "wasm" | "host";

export type TimeUnit = "us" | "ms" | "s";
export type CountUnit = "MB" | "ms" | "tensors";

interface AnyFigure {
  readonly name: string;
  /** What ours runs on; `--engine` chooses by it. */
  readonly engine: FigureEngine;
  readonly bars: readonly Bar[];
}

/** How long a piece of work takes: batches of steps, ours and the peers' in turn, the median of all rounds. */
export interface TimedFigure extends AnyFigure {
  readonly kind: "timed";
  readonly unit: TimeUnit;
  readonly ours: () => Promise<Subject>;
  readonly peers: Readonly<Partial<Record<PeerName, PeerCase>>>;
  /** Steps a batch, where they are not to be found by trying. */
  readonly steps?: number;
}

/** Something counted rather than timed, once, in its own unit. */
export interface CountedFigure extends AnyFigure {
  readonly kind: "counted";
  readonly unit: CountUnit;
  readonly ours: (options: { readonly quick: boolean }) => Promise<number>;
}

/** A bench is a list of these. */
export type Figure = TimedFigure | CountedFigure;
