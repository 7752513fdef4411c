import type { WorkerStart } from "../../src/doors/rollout.ts";

/** Says of all weights when it had them, by the clock that processes of one machine share. */
export const worker = ({ name, link }: WorkerStart) => ({
  run: async () => {
    for (let n = 0; ; n++) {
      const weights = await link.receive({ wait: true });
      const at = Number(process.hrtime.bigint());
      if (!weights) return;
      await link.send({
        ...{
          id: `${name}/${n}`,
          worker: name,
          weightId: weights.id,
          lesson: "",
          arrays: {},
          metrics: { at },
        },
        ...{ episodes: 0, return: 0, positive: 0 },
      });
    }
  },
});

/** Sends rollouts of 1 MB as fast as they are taken. */
export const sender = ({ name, link }: WorkerStart) => ({
  run: async ({ signal }: { readonly signal: AbortSignal }) => {
    await link.receive({ wait: true });
    const arrays = { x: { data: new Float32Array(250_000).fill(1), shape: [250_000] } };
    for (let n = 0; !signal.aborted; n++)
      await link.send({
        ...{ id: `${name}/${n}`, worker: name, weightId: 0, lesson: "", arrays },
        ...{ episodes: 0, return: 0, positive: 0 },
      });
  },
});
