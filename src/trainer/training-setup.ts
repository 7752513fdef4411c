import type { TrainerOptions } from "./set-up.ts";

/**
 * Makes everything a `Trainer` needs, anew with each call. A file that exports one as `setup` can be handed to
 * commands that train by themselves, such as `espalier prove-resume FILE`. It trains nothing when it is imported.
 *
 * @example
 * ```ts
 * export const setup: TrainingSetup = () => ({
 *   task: supervisedTask({ model, optimizer, data, loss, batchSize: 32 }),
 *   config: { epochs: 6, seed: 1 },
 *   hooks: [myHook],
 * });
 * ```
 */
export type TrainingSetup = () => TrainerOptions | Promise<TrainerOptions>;
