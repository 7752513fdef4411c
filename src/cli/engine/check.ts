import type { Clock } from "../../core/index.ts";
import { type EngineName, engine as engineOf } from "../../engine/index.ts";
import { type Training, train } from "./training.ts";

/** How far losses may lie apart on two engines, as a share of the larger one. */
const TOLERANCE = 1e-3;
/** GPUs and TPUs round the factors of matrix products to fewer digits by default. */
const ROUGH_TOLERANCE = 5e-2;
/** Losses under this are as good as zero, and their differences are, too. */
const SMALL = 1e-2;
/** The share of the first loss that the last may have. */
const LEARNED = 0.5;

/** What was measured on one engine. */
export interface Measured {
  readonly engine: EngineName;
  readonly description: string;
  /** The kind of its devices: `cpu`, `cuda`, ... */
  readonly kind: string;
  readonly devices: readonly string[];
  readonly training: Training;
}

/** What a check found. */
export interface CheckReport {
  readonly steps: number;
  readonly measured: readonly Measured[];
  /** Undefined where there are no two engines to compare. */
  readonly agreement: Agreement | undefined;
  /** Why it fails; empty where it does not. */
  readonly failures: readonly string[];
  /** What is missing without being asked for. */
  readonly notes: readonly string[];
}

export interface Agreement {
  /** The largest difference of two losses at the same step, as a share of the larger one. */
  readonly losses: number;
  /** The most that is right. */
  readonly tolerance: number;
  readonly randomBits: boolean;
}

export interface CheckOptions {
  readonly engines: readonly EngineName[];
  /** Engines that must be there: a missing one is a failure, else only said. */
  readonly required: readonly EngineName[];
  readonly steps: number;
  readonly clock: Clock;
}

/** Trains a small net on each engine and compares what comes out. */
export async function check({ engines, required, steps, clock }: CheckOptions): Promise<CheckReport> {
  const measured: Measured[] = [];
  const failures: string[] = [];
  const notes: string[] = [];
  for (const engine of engines) {
    try {
      const { description, devices } = engineOf(engine);
      const training = await train(engine, steps, clock);
      const names = devices.map((device) => device.description);
      measured.push({ engine, description, kind: devices[0]?.kind ?? "", devices: names, training });
    } catch (error) {
      const text = `${engine}: ${error instanceof Error ? error.message : String(error)}`;
      const missing = error instanceof Error && "code" in error && error.code === "XLA_UNAVAILABLE";
      (missing && !required.includes(engine) ? notes : failures).push(text);
    }
  }
  const [first, second] = measured;
  const agreement = first && second && agreementOf(first, second);
  failures.push(...measured.flatMap(learningFailures), ...agreementFailures(agreement));
  return { steps, measured, agreement, failures, notes };
}

export function agreementOf(one: Measured, other: Measured): Agreement {
  const [a, b] = [one.training, other.training];
  const differences = a.losses.map((loss, i) => {
    const opposite = b.losses[i] ?? Number.NaN;
    return Math.abs(loss - opposite) / Math.max(Math.abs(loss), Math.abs(opposite), SMALL);
  });
  return {
    // NaN wherever a comparison cannot be made: it must not pass.
    losses: Math.max(0, ...differences),
    tolerance: one.kind === "cpu" && other.kind === "cpu" ? TOLERANCE : ROUGH_TOLERANCE,
    randomBits:
      a.randomWords.length === b.randomWords.length && a.randomWords.every((w, i) => w === b.randomWords[i]),
  };
}

export function learningFailures({ engine, training: { losses } }: Measured): readonly string[] {
  const [first = Number.NaN] = losses;
  const last = losses.at(-1) ?? Number.NaN;
  if (last <= first * LEARNED) return [];
  return [`${engine}: it does not learn: the loss goes from ${first} to ${last}`];
}

export function agreementFailures(agreement: Agreement | undefined): readonly string[] {
  if (!agreement) return [];
  const { losses, tolerance, randomBits } = agreement;
  return [
    ...(losses <= tolerance
      ? []
      : [`the engines' losses lie apart by ${losses}; at most ${tolerance} is right`]),
    ...(randomBits ? [] : ["the engines' random bits differ"]),
  ];
}
