import { badOption, checkOptions, type OptionTable, option } from "../core/index.ts";
import { type Device, type EngineChoice, type Mesh, meshDevice } from "../engine/index.ts";

/**
 * Devices that train together: their number, or `{ count, shardOptimizer }`.
 *
 * @example
 * ```ts
 * supervisedTask({ ...options, batchSize: 256, devices: 4 }); // 64 examples of each batch on each device
 * supervisedTask({ ...options, batchSize: 256, devices: { count: 4, shardOptimizer: true } });
 * ```
 */
export type DevicesOption =
  | number
  | {
      readonly count: number;
      /**
       * Each device keeps a part of the optimizer's state instead of all of it (ZeRO-1), and of a moving average of the
       * parameters. Default: false.
       */
      readonly shardOptimizer?: boolean;
    };

const members = {
  count: option.integer({ min: 1, required: true }),
  shardOptimizer: option.flag({}),
} satisfies OptionTable<Exclude<DevicesOption, number>>;

/** The row of `devices` in tables of options. */
export const devicesRow = option.made<DevicesOption>(
  "a number of devices, or { count: 4, shardOptimizer: true }",
  (given) => typeof given === "number" || (typeof given === "object" && given !== null),
  {},
);

/** Options that say where a task computes. */
export interface PlaceOptions {
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
  readonly devices?: DevicesOption | undefined;
}

/** The engine and device that options ask for: several devices are one, which holds and runs everything. */
export function placeOf(
  task: string,
  { engine, device, devices = 1 }: PlaceOptions,
): { readonly engine?: EngineChoice; readonly device?: number | Device } {
  const given = typeof devices === "number" ? { count: devices } : devices;
  checkOptions(`${task}: devices`, given, members);
  const mesh: Mesh = { count: given.count, shardOptimizer: given.shardOptimizer ?? false };
  if (mesh.count > 1 && device !== undefined)
    throw badOption(
      task,
      "device and devices are both given",
      "give one of them: devices are the first ones",
    );
  if (mesh.count > 1) return { device: meshDevice(engine, mesh) };
  return { ...(engine !== undefined && { engine }), ...(device !== undefined && { device }) };
}

/** Refuses a batch that devices cannot share equally. */
export function checkShare(task: string, { mesh }: Device, what: string, size: number): void {
  if (!mesh || size % mesh.count === 0) return;
  throw badOption(
    task,
    `${what} is ${size}, which ${mesh.count} devices cannot share equally`,
    `make it a multiple of ${mesh.count}, such as ${Math.ceil(size / mesh.count) * mesh.count}`,
  );
}
