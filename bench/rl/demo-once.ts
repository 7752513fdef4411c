// Run by demo.ts in a fresh process: what the demo trains, from nothing.
import { ppo } from "../../src/rl/index.ts";
import { seconds } from "../harness/stopwatch.ts";

export interface Demo {
  readonly seconds: number;
  readonly return: number;
}

const agent = ppo({ env: "CartPole-v1", engine: process.argv[2] as "xla" | "wasm", seed: 0 });
const took = await seconds(() => agent.train());
const evaluated = await agent.evaluate({ episodes: 20 });
const result: Demo = { seconds: took, return: evaluated.return };
process.send?.(result);
