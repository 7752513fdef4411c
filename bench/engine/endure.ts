// Run by endurance.ts in a fresh process: trains for a long time and watches the memory.
import { compile } from "../../src/index.ts";
import { heldTensors } from "../harness/held-tensors.ts";
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
