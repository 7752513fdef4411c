import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

/** What training noticed of saves that went on beside it. */
export interface Standstill {
  /** The longest time between two batches beyond the usual one, the median over the saves. */
  readonly milliseconds: number;
  /** The same over as long without a save: what the machine and the collector do by themselves. */
  readonly without: number;
  /** The most resident memory during a save beyond that before it. */
  readonly megabytes: number;
}

const runs = new Map<number, Promise<Standstill>>();

/** One run serves all figures of a size. */
function train(gigabytes: number, quick: boolean): Promise<Standstill> {
  const saves = quick ? 1 : gigabytes > 1 ? 3 : 5;
  const run =
    runs.get(gigabytes) ??
    inFreshProcess<Standstill>(new URL("./save-while-training.ts", import.meta.url), [
      String(gigabytes),
      String(saves),
    ]);
  runs.set(gigabytes, run);
  return run;
}

/**
 * What a save costs training and memory. The snapshot holds the tensors themselves, so that memory grows by what is on
 * its way to the disk; the issue's own bar is the size of the snapshot.
 */
export const standstill: readonly CountedFigure[] = [1, 4].flatMap((gigabytes) => [
  {
    kind: "counted" as const,
    name: `saving ${gigabytes} GB while training: the longest standstill`,
    engine: "xla" as const,
    unit: "ms" as const,
    ours: async ({ quick }: { readonly quick: boolean }) => (await train(gigabytes, quick)).milliseconds,
    bars: [{ kind: "absolute" as const, atMost: 50 }],
  },
  {
    kind: "counted" as const,
    name: `the longest standstill of the same training, for as long, without a save of ${gigabytes} GB`,
    engine: "xla" as const,
    unit: "ms" as const,
    ours: async ({ quick }: { readonly quick: boolean }) => (await train(gigabytes, quick)).without,
    bars: [],
  },
  {
    kind: "counted" as const,
    name: `saving ${gigabytes} GB while training: resident memory gained`,
    engine: "xla" as const,
    unit: "MB" as const,
    ours: async ({ quick }: { readonly quick: boolean }) => (await train(gigabytes, quick)).megabytes,
    bars: [
      { kind: "absolute" as const, atMost: 256 },
      { kind: "absolute" as const, atMost: gigabytes * 1000, asked: "the snapshot" },
    ],
  },
]);
