// Run by endurance.ts in a fresh process: trains for a long time and watches the memory.
import { setImmediate } from "node:timers/promises";
import { compile, memory } from "../../src/index.ts";
import type { Endurance } from "./endurance.ts";
import { adamStep, start } from "./mlp.ts";
import { smallestNet } from "./nets.ts";

const [steps, freeing] = [Number(process.argv[2]), process.argv[3]];
const settle = 1000;
let { params, adam, x, y } = start(smallestNet, "xla");
const step = compile(adamStep, { engine: "xla", donate: freeing === "donated" ? [0, 1] : [] });

async function train(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const [nextParams, nextAdam, loss] = step(params, adam, x, y);
    params = nextParams;
    adam = nextAdam;
    await loss.item();
  }
}

/** What is really held: after a collection, and turns of the event loop for as long as its finds are freed in them. */
async function heldTensors(): Promise<number> {
  let held = Number.POSITIVE_INFINITY;
  for (let still = 0; still < 3; still++) {
    globalThis.gc?.();
    await setImmediate();
    const now = memory().tensors;
    if (now < held) still = 0;
    held = now;
  }
  return held;
}

const megabytes = (): number => process.memoryUsage.rss() / 2 ** 20;

await train(settle);
const before = megabytes();
const tensorsBefore = await heldTensors();
let most = before;
for (let done = settle; done < steps; done += settle) {
  await train(settle);
  most = Math.max(most, megabytes());
}
const result: Endurance = { growth: most - before, tensorsGained: (await heldTensors()) - tensorsBefore };
process.send?.(result);
