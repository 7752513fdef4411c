// Learning by acting: an agent that balances a pole on a cart. New ideas: `ppo`, with the settings that are known to be
// good for an environment; `evaluationHook`, which plays episodes now and then and changes nothing of the training; and
// a policy that is played from its checkpoint alone.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkpointHook, every, type TrainerHook } from "espalier";
import { evaluationScores } from "espalier/hooks";
import { evaluateCheckpoint, evaluationHook, ppo } from "espalier/rl";

const PROMISED = 475;

// What lies between two times is done in one call where the environment is compiled, as it is on xla.
const schedule = every({ epochs: 50 });

/** Ends the run once all episodes of an evaluation were balanced to their end, which is after 500 steps. */
export const enough: TrainerHook = {
  name: "enough",
  needs: [evaluationScores],
  schedule,
  onEpochEnd({ slots, counters, stop }) {
    const { return: mean, "return.min": worst } = slots.get(evaluationScores)?.scores ?? {};
    console.log(`after ${counters.steps} steps: mean return ${mean}, the worst ${worst}`);
    if (worst === 500) stop("every episode was balanced to its end");
  },
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const directory = mkdtempSync(join(tmpdir(), "espalier-cartpole-"));
  try {
    const agent = ppo({ env: "CartPole-v1", seed: 1 });
    const { outcome, reason, counters, timings } = await agent.train({
      hooks: ({ player }) => [
        enough,
        evaluationHook({ player, suites: { cart: { env: "CartPole-v1" } }, episodes: 20, schedule }),
        checkpointHook({ directory, schedule, keep: { last: 1 } }),
      ],
    });
    console.log(`${outcome}: ${reason ?? "it was as long as planned"}`);
    console.log(
      `${counters.episodes} episodes, ${Math.round(counters.steps / timings.seconds)} steps a second`,
    );

    // Whoever has the checkpoint has the policy: what was trained, and on what, stands in it. Other episodes than before.
    const { results } = await evaluateCheckpoint(directory, { episodes: 20, seed: 1234 });
    const { return: mean = 0, "return.min": worst } = results[0]?.scores ?? {};
    console.log(`from its checkpoint: mean return ${mean} over 20 episodes, the worst ${worst}`);
    assert.ok(mean >= PROMISED, `it promises a mean return of ${PROMISED}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
