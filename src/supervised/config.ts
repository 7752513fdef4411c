import { EspalierError, isPlainObject, type OptionTable, option, resolveOptions } from "../core/index.ts";
import { isRamp, type Ramp } from "../schedule/index.ts";
import { type TrainingConfig, trainingConfig, trainingConfigTable } from "../trainer/index.ts";

/** The fields of a supervised run's configuration beside those of {@link TrainingConfig}. */
export interface SupervisedFields {
  /** A number or a ramp. Default: 1e-3. */
  readonly learningRate: number | Ramp;
  /** Examples in a batch. Default: 32. */
  readonly batchSize: number;
  /** Batches in an update. Default: 1. */
  readonly accumulate: number;
  /** Gradients above this norm are scaled down. Default: Infinity, never. */
  readonly gradientClip: number;
  /** Weight decay of AdamW; 0 is plain Adam. Default: 0. */
  readonly weightDecay: number;
  /** Skips updates whose gradients are infinite or NaN. Default: true. */
  readonly skipNonFinite: boolean;
  /** The element type of activations and products on xla. Default: "f32". */
  readonly precision: "f32" | "bf16";
  /** Gives each epoch an order of its own. Default: true. */
  readonly shuffle: boolean;
  /** Keeps examples that do not fill an update, as a smaller one, or drops them. Default: "keep". */
  readonly lastBatch: "keep" | "drop";
  /** Worker threads that load examples of a dataset. Default: 0. */
  readonly workers: number;
}

/** The configuration of a supervised run: the trainer's fields, and those of the task. */
export type SupervisedConfig = TrainingConfig & SupervisedFields;

const ramp = option.made<Ramp>("a ramp such as cosine({ ... })", isRamp, {});

const fields = {
  learningRate: option.either(option.number({ min: 0 }), ramp, {
    default: 1e-3,
    doc: "The learning rate: a number or a ramp.",
  }),
  batchSize: option.integer({ min: 1, default: 32, doc: "Examples in a batch." }),
  accumulate: option.integer({ min: 1, default: 1, doc: "Batches in an update." }),
  gradientClip: option.number({
    above: 0,
    infinite: true,
    default: Number.POSITIVE_INFINITY,
    doc: "Gradients above this norm are scaled down.",
  }),
  weightDecay: option.number({ min: 0, default: 0, doc: "Weight decay of AdamW; 0 is plain Adam." }),
  skipNonFinite: option.flag({ default: true, doc: "Skips updates whose gradients are infinite or NaN." }),
  precision: option.oneOf(["f32", "bf16"], {
    default: "f32",
    doc: "The element type of activations and products on xla.",
  }),
  shuffle: option.flag({ default: true, doc: "Gives each epoch an order of its own." }),
  lastBatch: option.oneOf(["keep", "drop"], {
    default: "keep",
    doc: "Keeps examples that do not fill an update, as a smaller one, or drops them.",
  }),
  workers: option.integer({
    min: 0,
    max: 256,
    default: 0,
    doc: "Worker threads that load examples of a dataset.",
  }),
} satisfies OptionTable<SupervisedFields>;

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
  if (isPlainObject(given) && "checkpointDir" in given)
    throw new EspalierError("CONFIG_UNKNOWN", 'the training config has no field "checkpointDir"', {
      fix: "give it beside the training config: supervisedTrainer({ checkpointDir, trainingConfig })",
    });
  const config: SupervisedConfig = resolveOptions(
    "the training config",
    given,
    { ...trainingConfigTable, ...fields },
    { unknown: "CONFIG_UNKNOWN", invalid: "CONFIG_INVALID" },
  );
  return Object.freeze({ ...config, ...trainingConfig(coreConfig(config)) });
}

/** The part of a configuration that the trainer itself knows. */
export const coreConfig = (config: SupervisedConfig): Partial<TrainingConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !(name in fields)));
