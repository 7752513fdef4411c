import type { Bar, CountUnit, FigureEngine, PeerName, RateUnit, TimeUnit } from "./figure.ts";
import type { Machine } from "./machine.ts";

/** What one figure gave. Samples are in the figure's unit, one a round or seed. */
export interface Result {
  readonly name: string;
  readonly engine: FigureEngine;
  readonly unit: TimeUnit | RateUnit | CountUnit;
  /** What stands for the samples: the median unless given. */
  readonly statistic?: "mean";
  readonly bars: readonly Bar[];
  readonly ours?: readonly number[] | undefined;
  readonly peers: Readonly<Partial<Record<PeerName, readonly number[]>>>;
  /** Why ours, or a peer, gave nothing. */
  readonly problems: Readonly<Partial<Record<PeerName | "ours", string>>>;
}

/** One run of a bench: all that its table is made from, and what `--json` writes. */
export interface Report {
  readonly bench: string;
  readonly title: string;
  /** Whether all figures were asked for, with peers, at full length: only then does it replace a section of the docs. */
  readonly whole: boolean;
  readonly command: string;
  readonly date: string;
  readonly rounds: number;
  readonly machine: Machine;
  readonly results: readonly Result[];
}
