// What `npm run demo` shows: an agent learns to balance a pole on a cart, on the best engine that is here. It is
// evaluated on the way, saved at the end, and then it balances in the terminal.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkpointHook,
  consoleSink,
  engine,
  engineHint,
  every,
  Logger,
  metricsHook,
  type TrainerHook,
} from "espalier";
import { latestCheckpoint, latestReplay } from "espalier/hooks";
import { evaluationHook, makeEnvironment, ppo, readReplay, replayFrames } from "espalier/rl";
import { show } from "./demo-show.ts";

const ENVIRONMENT = "CartPole-v1";
const PROMISED = 475;

console.log(engineHint());
if (engine().name === "wasm") console.log("  in this checkout: npm run --silent espalier -- engine install");

const directory = mkdtempSync(join(tmpdir(), "espalier-demo-"));
const agent = ppo({ env: ENVIRONMENT, seed: 1 });
const { totalSteps } = agent.settings;

/** A bar and the returns now and then on a terminal, a few lines elsewhere. */
const progress = metricsHook({
  logger: new Logger({
    sinks: [
      consoleSink({
        schedule: every({ steps: totalSteps / 5 }),
        metrics: ["rollout/episode.return", "evaluation/return"],
      }),
    ],
  }),
  system: false,
  timing: false,
});

/** Where things lie in the end. */
const found = { checkpoint: "", replay: "" };
const note: TrainerHook = {
  name: "note",
  onTrainingEnd: ({ slots }) => {
    found.checkpoint = slots.previous(latestCheckpoint)?.path ?? "";
    found.replay = slots.previous(latestReplay)?.path ?? "";
  },
};

console.log(
  `PPO learns ${ENVIRONMENT} in ${totalSteps.toLocaleString("en")} steps; 500 is the best there is`,
);
const { counters, outcome, timings } = await agent.train({
  hooks: ({ player }) => [
    progress,
    evaluationHook({
      player,
      suites: { balance: { env: ENVIRONMENT } },
      schedule: every({ steps: totalSteps / 5 }),
      episodes: 5,
      replays: { directory: join(directory, "replays") },
    }),
    checkpointHook({ directory: join(directory, "checkpoints"), schedule: every({ steps: totalSteps }) }),
    note,
  ],
});

if (outcome === "interrupted") {
  console.log(`its checkpoint is in ${join(directory, "checkpoints")}`);
  process.exit();
}
const evaluation = await agent.evaluate({ episodes: 20, seed: 100 });
const rate = Math.round(counters.samples / timings.seconds);
await show(replayFrames(await readReplay(found.replay), makeEnvironment(ENVIRONMENT)));
console.log(`
mean return    ${evaluation.return.toFixed(1)} of 500, over 20 episodes it had not seen
training       ${timings.seconds.toFixed(1)} s on ${engine().name}, compiling and evaluating included: ${rate.toLocaleString("en")} steps a second
checkpoint     ${found.checkpoint}
watch again    npm run --silent espalier -- replay ${found.replay}`);
if (evaluation.return < PROMISED) {
  console.error(`that is less than the mean return of ${PROMISED} this demo promises`);
  process.exitCode = 1;
}
