// From easy to hard. New idea: a curriculum. Only reaching the goal of a grid world pays, and in its maze nobody comes
// upon it by chance: the key lies at the end of one corridor, the goal behind a door in another. So seven lessons begin
// one after the other, each when the one before is solved more often than not, and most episodes are of the lesson half known.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { every, type TrainerHook } from "espalier";
import { evaluationScores } from "espalier/hooks";
import {
  type Curriculum,
  evaluationHook,
  gridLessons,
  lessonCurriculum,
  lessonSuites,
  ppo,
} from "espalier/rl";

const names = Object.keys(gridLessons);
const hardest = names.at(-1) as string;

const schedule = every({ epochs: 20 });

/** The share of episodes solved, lesson by lesson, at each evaluation. An episode's return is 1 or 0. */
const solved: number[][] = [];
export const watch = ({ curriculum }: { readonly curriculum: Curriculum }): TrainerHook => ({
  name: "watch",
  needs: [evaluationScores],
  schedule,
  onEpochEnd({ slots, counters, stop }) {
    const scores = slots.get(evaluationScores)?.scores ?? {};
    const shares = names.map((name) => scores[`${name}.return`] ?? 0);
    solved.push(shares);
    const line = names.map((name, i) => `${name} ${Math.round(100 * (shares[i] ?? 0))} %`).join(", ");
    console.log(`${counters.steps} steps, ${curriculum.metrics().unlocked} lessons begun: ${line}`);
    if ((shares.at(-1) ?? 0) >= 0.9) stop(`the ${hardest} is solved`);
  },
});

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const curriculum = lessonCurriculum({
    lessons: names.map((name, i) => ({ name, after: names.slice(i - 1, i), threshold: 0.6 })),
    // How still returns must stand before the next lesson begins. It goes on sooner than it would: this is to be quick.
    plateau: { variation: 0.5 },
  });

  const agent = ppo({
    env: "GridWorld-v0",
    curriculum,
    ...{
      environments: 64,
      rolloutSteps: 64,
      minibatches: 4,
      learningRate: 2e-3,
      totalSteps: 1_000_000,
      seed: 1,
    },
  });
  const { outcome, reason, counters } = await agent.train({
    hooks: ({ player }) => [
      // Actions are drawn, as in training: in a maze, one who always does what seems best may walk in circles.
      evaluationHook({
        player,
        suites: lessonSuites("GridWorld-v0"),
        episodes: 20,
        deterministic: false,
        schedule,
      }),
      watch({ curriculum }),
    ],
  });
  console.log(`${outcome}: ${reason}, after ${counters.episodes} episodes`);

  const first = solved[0] ?? [];
  const last = solved.at(-1) ?? [];
  assert.ok((first.at(-1) ?? 1) < 0.1, "at first nobody finds a way through the maze");
  assert.ok((last.at(-1) ?? 0) >= 0.9, "in the end nearly everybody does");
  assert.ok(
    last.slice(0, 4).every((share) => share >= 0.8),
    "and what was learned at first is not forgotten",
  );
}
