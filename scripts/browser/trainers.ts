// Trains a classifier and an agent as a page of a browser would. For scripts/browser.test.ts.
import { loadWasm, nn, setEngine } from "espalier";
import { ppo } from "espalier/rl";
import { supervisedTrainer } from "espalier/supervised";

export async function run(): Promise<string> {
  await loadWasm();
  setEngine("wasm");
  const trainer = supervisedTrainer({
    model: nn.mlp({ hidden: [16], out: 2 }),
    trainingConfig: { epochs: 200, batchSize: 4, learningRate: 0.03, seed: 1 },
  });
  const trainData = { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: new Int32Array([0, 1, 1, 0]) }; // biome-ignore format: a table
  const { metrics } = await trainer.train({ trainData });
  const agent = ppo({ env: "CartPole-v1", environments: 4, totalSteps: 512, rolloutSteps: 64 });
  const { outcome } = await agent.train();
  return (metrics.loss ?? 1) < 0.1 && outcome === "completed" ? "fitted" : `${metrics.loss} ${outcome}`;
}
