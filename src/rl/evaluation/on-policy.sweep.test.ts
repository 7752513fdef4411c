import { describe, expect, it } from "vitest";
import { checkpointHook } from "../../checkpoint/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { every } from "../../schedule/index.ts";
import { type EvaluationScores, evaluationScores } from "../../trainer/index.ts";
import { smallTask, trained, type Where } from "../on-policy/on-policy.test-support.ts";
import { evaluateCheckpoint } from "./evaluate-checkpoint.ts";
import { evaluationHook } from "./evaluation-hook.ts";
import { folder } from "./run.test-support.ts";
import { allScores } from "./suites.ts";

const suites = { cartpole: { env: "CartPole-v1" } };
const wheres: readonly Where[] = ["compiled", "ordinary"];

describe.each(sweepEngines())("PPO on %s", (engine) => {
  it.each(wheres)("learns the same bits with and without evaluation, %s", async (where) => {
    const more = { normalize: { observations: true } };
    const task = smallTask(where, engine, more);
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 3, schedule: every({ epochs: 1 }) },
    });
    const evaluated = await trained(task, {}, [evaluation]);
    expect(evaluated.hashes).toEqual((await trained(smallTask(where, engine, more))).hashes);
    expect(evaluated.trainer.hooks.slots.get(evaluationScores)?.scores["cartpole.episodes"]).toBe(3);
  });

  it("is found in a checkpoint as it was inline: normaliser, memory and all", async () => {
    const directory = folder();
    const task = smallTask("ordinary", engine, {
      normalize: { observations: true },
      policy: { encoder: { kind: "mlp", hidden: [8] }, memory: { kind: "gru", width: 8 } },
      ...{ rolloutSteps: 8, updateEpochs: 1, minibatches: 1 },
    });
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 4, schedule: every({ epochs: 4 }) },
    });
    const { trainer } = await trained(task, {}, [evaluation, checkpointHook({ directory })]);
    const inline = trainer.hooks.slots.get(evaluationScores) as EvaluationScores;
    const { results, manifest } = await evaluateCheckpoint(directory, { episodes: 4, engine, suites });
    expect(allScores(results)).toEqual(inline.scores);
    expect(manifest.scores).toEqual(inline.scores);
    expect(manifest.counters.epochs).toBe(4);
    const own = await evaluateCheckpoint(directory, { episodes: 4, engine });
    expect(own.results.map(({ suite, scores }) => [suite, scores.return])).toEqual([
      ["CartPole-v1", results[0]?.scores.return],
    ]);
  });
});
