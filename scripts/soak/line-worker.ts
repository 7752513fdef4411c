import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { RolloutWorker, type WorkerStart } from "../../src/doors/rollout.ts";
import { hostRandom } from "../../src/engine/index.ts";

/** The line that is to be found: y = x · slope. */
export const slope = [0.5, -1, 2] as const;
/** Points of one rollout. */
export const points = 4;

/**
 * A worker that costs little: points of a line. It writes down every rollout once it is acknowledged, so that whoever
 * kills it knows what must not be lost.
 */
export function worker({ name, link, options: { directory } }: WorkerStart<{ readonly directory: string }>) {
  mkdirSync(directory, { recursive: true });
  return new RolloutWorker({
    name,
    weights: link,
    rollouts: {
      send: async (rollout, options) => {
        await link.send(rollout, options);
        appendFileSync(join(directory, name), `${rollout.id}\n`);
      },
    },
    defaultHooks: false,
    generator: {
      lessons: ["line"],
      setParams: () => undefined,
      rollout: async ({ key }) => {
        const x = hostRandom.hostUniform(key, points * slope.length);
        const y = Float32Array.from({ length: points }, (_, i) =>
          slope.reduce((sum, each, j) => sum + each * (x[i * slope.length + j] as number), 0),
        );
        return {
          arrays: {
            x: { data: Float32Array.from(x), shape: [points, slope.length] },
            y: { data: y, shape: [points] },
          },
          ...{ episodes: points, return: 0, positive: 0 },
        };
      },
      evaluate: async () => ({ episodes: 0, return: 0, positive: 0 }),
    },
  });
}
