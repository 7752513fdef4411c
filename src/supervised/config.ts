import { didYouMean, EspalierError, shown } from "../core/index.ts";
import { isRamp, type Ramp } from "../schedule/index.ts";
import { type TrainingConfig, trainingConfig } from "../trainer/index.ts";

/** How a supervised run goes: all fields of {@link TrainingConfig}, and these. */
export interface SupervisedFields {
  /** A number or a ramp. Default 1e-3. */
  readonly learningRate: number | Ramp;
  /** Examples in a batch. Default 32. */
  readonly batchSize: number;
  /** Batches in an update. Default 1. */
  readonly accumulate: number;
  /** Above this norm gradients are scaled down. Default Infinity: never. */
  readonly gradientClip: number;
  /** Of AdamW; 0 is plain Adam. Default 0. */
  readonly weightDecay: number;
  /** Whether updates with infinite gradients, or gradients that are no numbers, are left out. Default true. */
  readonly skipNonFinite: boolean;
  /** Whether each epoch has an order of its own. Default true. */
  readonly shuffle: boolean;
  /** What becomes of examples that do not fill an update. Default "keep": a smaller one. */
  readonly lastBatch: "keep" | "drop";
}

/** The configuration of a supervised run: the trainer's fields, and those of the task. */
export type SupervisedConfig = TrainingConfig & SupervisedFields;

interface Field {
  readonly default: unknown;
  readonly is: string;
  readonly holds: (value: unknown) => boolean;
}

const size: Omit<Field, "default"> = {
  is: "a whole number from 1 on",
  holds: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
};
const notNegative = (value: unknown): boolean => typeof value === "number" && value >= 0;
const flag: Omit<Field, "default"> = { is: "true or false", holds: (value) => typeof value === "boolean" };

const fields: Readonly<Record<keyof SupervisedFields, Field>> = {
  learningRate: {
    default: 1e-3,
    is: "a finite number from 0 on, or a ramp such as cosine({ ... })",
    holds: (value) => (notNegative(value) && Number.isFinite(value)) || isRamp(value),
  },
  batchSize: { default: 32, ...size },
  accumulate: { default: 1, ...size },
  gradientClip: {
    default: Number.POSITIVE_INFINITY,
    is: "a number above 0",
    holds: (value) => notNegative(value) && value !== 0,
  },
  weightDecay: {
    default: 0,
    is: "a finite number from 0 on",
    holds: (value) => notNegative(value) && Number.isFinite(value),
  },
  skipNonFinite: { default: true, ...flag },
  shuffle: { default: true, ...flag },
  lastBatch: {
    default: "keep",
    is: '"keep" or "drop"',
    holds: (value) => value === "keep" || value === "drop",
  },
};

/**
 * Completes and checks the configuration of a supervised run: one object for the trainer and the task, whose fields
 * may also be getters or come from its class.
 *
 * @example
 * ```ts
 * const config = supervisedConfig({ epochs: 10, learningRate: 3e-4, batchSize: 64, gradientClip: 1 });
 * ```
 */
export function supervisedConfig(given: Partial<SupervisedConfig> = {}): SupervisedConfig {
  if (typeof given !== "object" || given === null)
    throw new EspalierError("CONFIG_INVALID", `the training config is ${String(given)}`, {
      fix: "give an object such as { epochs: 10, batchSize: 32 }",
    });
  const own = Object.keys(fields);
  const core = Object.keys(trainingConfig()) as (keyof TrainingConfig)[];
  const known = [...core, ...own];
  for (const name of Object.keys(given))
    if (!known.includes(name))
      throw new EspalierError(
        "CONFIG_UNKNOWN",
        `the training config has no field "${name}"${didYouMean(name, known)}`,
        {
          fix:
            name === "checkpointDir"
              ? "give it beside the training config: supervisedTrainer({ checkpointDir, trainingConfig })"
              : `the fields are ${known.join(", ")}`,
        },
      );
  const mine = own.map((name) => {
    const field = fields[name as keyof SupervisedFields];
    const value = given[name as keyof SupervisedFields] ?? field.default;
    if (field.holds(value)) return [name, value];
    throw new EspalierError(
      "CONFIG_INVALID",
      `the training config's ${name} is ${shown(value)}, which is not ${field.is}`,
      { fix: `give ${field.is}` },
    );
  });
  const ofTrainer = Object.fromEntries(core.map((name) => [name, given[name]]));
  return Object.freeze({ ...trainingConfig(ofTrainer), ...Object.fromEntries(mine) });
}

/** The part of a configuration that the trainer itself knows. */
export const coreConfig = (config: SupervisedConfig): Partial<TrainingConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !(name in fields)));
