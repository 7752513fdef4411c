// Actions that are numbers: a motor too weak to lift a pendulum has to swing it up. New ideas: a space of actions that is
// a box, for which the policy is a Gaussian; settings of one's own instead of the known ones; and a replay, an episode
// kept as its seed and its actions, that can be watched for ever.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { every, type TrainerHook } from "espalier";
import { latestReplay } from "espalier/hooks";
import {
  asText,
  evaluationHook,
  makeEnvironment,
  ppo,
  readReplay,
  replayFrames,
  verifyReplay,
} from "espalier/rl";

const env = "Pendulum-v1";
// An episode costs about 1200 for one who acts at random, and about 150 for one who can do it.
const PROMISED = -300;

let newest = "";

/** Says where the newest replay is. */
export const note: TrainerHook = {
  name: "note",
  needs: [latestReplay],
  onTrainingEnd: ({ slots }) => {
    newest = slots.previous(latestReplay)?.path ?? "";
    console.log(`its last evaluation: ${newest}`);
  },
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const directory = mkdtempSync(join(tmpdir(), "espalier-pendulum-"));
  try {
    // Larger minibatches and faster steps than the known settings have, and fewer of them.
    const agent = ppo({
      env,
      ...{ totalSteps: 60_000, environments: 8, rolloutSteps: 256, minibatches: 16 },
      ...{ learningRate: 2e-3, annealRate: true, seed: 1 },
    });
    console.log(`actions: ${JSON.stringify(makeEnvironment(env).actionSpace)}`);
    await agent.train({
      hooks: ({ player }) => [
        evaluationHook({
          player,
          suites: { swing: { env } },
          schedule: every({ epochs: 15 }),
          replays: { directory },
        }),
        note,
      ],
    });
    const { return: mean, returns } = await agent.evaluate({ episodes: 20, seed: 100 });
    console.log(`mean return ${mean.toFixed(1)}, from ${Math.min(...returns).toFixed(1)} on`);

    // The last evaluation's first episode. `espalier replay FILE` plays it in the terminal, or makes a film of it.
    const replay = await readReplay(newest);
    assert.deepEqual(verifyReplay(replay, makeEnvironment(env)), { fits: true });
    const frames = replayFrames(replay, makeEnvironment(env));
    for (const step of [0, 20, 199]) {
      const frame = frames[step];
      if (frame) console.log(asText(frame, { columns: 24 }));
    }
    console.log(
      `${replay.length} steps, return ${replay.return.toFixed(1)}, in ${replay.actions.length} numbers`,
    );
    assert.ok(mean > PROMISED, `it promises a mean return above ${PROMISED}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
