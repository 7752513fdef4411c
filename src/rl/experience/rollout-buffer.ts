import { checkNames, checkSize, EspalierError } from "../../core/index.ts";
import type { Tensor } from "../../engine/index.ts";
import type { Field } from "../../losses/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { ExperienceBuffer } from "./experience.ts";
import { given, hostFields, placed, restored, saved, type Where } from "./host-fields.ts";
import type { FieldNumbers } from "./replay-buffer.ts";

export interface RolloutBufferOptions extends Where {
  readonly steps: number;
  readonly rows: number;
  readonly fields: Readonly<Record<string, Field>>;
}

/** Everything gathered, on the device by field: [steps, rows, ...]. */
export type Rollout = Readonly<Record<string, Tensor>>;

export interface RolloutBuffer extends ExperienceBuffer<FieldNumbers, Rollout> {
  /** Steps there are. */
  readonly size: number;
}

const kind = "rolloutBuffer";

/**
 * Experience that is learned from as a whole and then forgotten: so many steps of so many rows. Steps are copied into
 * their place in JavaScript's memory, and all of them are put on the device together.
 *
 * @example
 * ```ts
 * const buffer = rolloutBuffer({ steps: 128, rows: 4, fields: { reward: { shape: [], dtype: "f32" } } });
 * while (!buffer.ready) {
 *   vector.step(actions);
 *   buffer.add({ reward: vector.rewards });
 * }
 * learn(buffer.sample());
 * buffer.clear();
 * ```
 */
export function rolloutBuffer(options: RolloutBufferOptions): RolloutBuffer {
  checkNames(kind, options, ["steps", "rows", "fields", "engine", "device"]);
  const steps = checkSize(kind, "steps", options.steps);
  const rows = checkSize(kind, "rows", options.rows);
  const fields = hostFields(kind, options.fields, steps * rows);
  let size = 0;
  return {
    varies: true,
    get size() {
      return size;
    },
    get ready() {
      return size === steps;
    },
    add: (step) => {
      if (size === steps)
        throw new EspalierError("BUFFER_FULL", `${kind}: there are ${steps} steps already`, {
          fix: "learn from them and clear() it when it is `ready`",
        });
      for (const field of fields) {
        const numbers = given(kind, step, field, rows);
        const target = size * rows * field.size;
        for (let i = 0; i < numbers.length; i++) field.data[target + i] = numbers[i] as number;
      }
      size++;
    },
    sample: () => {
      if (size < steps)
        throw new EspalierError("BUFFER_NOT_READY", `${kind}: there are ${size} of ${steps} steps`, {
          fix: "ask `ready` first",
        });
      return Object.fromEntries(
        fields.map((field) => [field.name, placed(field, field.data, [steps, rows], options)]),
      );
    },
    clear: () => {
      size = 0;
    },
    getState: (): StateTree => ({ size, fields: saved(fields, size * rows) }),
    setState: (state) => {
      const { size: count, fields: arrays } = (state ?? {}) as Readonly<Record<string, unknown>>;
      if (typeof count !== "number" || !Number.isInteger(count) || count < 0 || count > steps)
        throw new EspalierError("STATE_MISMATCH", `${kind}: this is no state of up to ${steps} steps`, {
          fix: "restore what a buffer of the same size saved",
        });
      restored(kind, fields, arrays, count * rows);
      size = count;
    },
  };
}
