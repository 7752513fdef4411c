import { setup as rings } from "../../examples/setups/rings.ts";
import type { TrainerHook, TrainingSetup } from "../../src/index.ts";

/** Numbers of the ballast: writing them takes longer than a batch, so that writes are often in flight. */
const numbers = 4_000_000;

/** State that changes with every batch and is there to be written. */
function ballast(): TrainerHook {
  let data = new Float32Array(numbers);
  return {
    name: "ballast",
    onBatchEnd: ({ counters: { batches } }) => {
      data[(batches * 7919) % numbers] = batches;
    },
    state: {
      getState: () => data,
      setState: (state) => {
        data = Float32Array.from(state as Float32Array);
      },
    },
  };
}

/** The rings with ballast: what `npm run soak:kills` trains. */
export const setup: TrainingSetup = async () => {
  const options = await rings();
  return { ...options, config: { ...options.config, epochs: 8 }, hooks: [ballast()] };
};
