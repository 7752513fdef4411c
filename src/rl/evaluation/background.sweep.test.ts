import { describe, expect, it } from "vitest";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { every } from "../../schedule/index.ts";
import { describeInRest, describeInSample } from "../../sweep.test-support.ts";
import { type EvaluationScores, evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import { registerEnvironment } from "../environments/registry.ts";
import { readReplay } from "../replays/files.ts";
import { verifyReplay } from "../replays/playback.ts";
import { here, makeDrift } from "./evaluation.test-support.ts";
import { evaluationHook } from "./evaluation-hook.ts";
import { EvaluationThread } from "./local.ts";
import { toHost } from "./policy-steps.ts";
import { folder, WalkTask, walkRun } from "./run.test-support.ts";

const drift = (): WalkTask => new WalkTask(makeDrift, here("makeDrift"));
const suites = { drift: { env: here("makeDrift") } };

/** Hears of every value of the slot, and where the run was then. */
function heard(): {
  readonly hook: TrainerHook;
  readonly scores: EvaluationScores[];
  readonly late: number[];
} {
  const scores: EvaluationScores[] = [];
  const late: number[] = [];
  let epochs = 0;
  return {
    ...{ scores, late },
    hook: {
      name: "heard",
      onRegister: (host) =>
        host.observe({
          provided: (slot, value) => {
            if (slot.name !== evaluationScores.name) return;
            const found = value as EvaluationScores;
            scores.push(found);
            late.push(epochs - found.counters.epochs);
          },
        }),
      onEpochStart: ({ counters }) => {
        epochs = counters.epochs;
      },
    },
  };
}

describe.each(sweepEngines())("an evaluation in a thread, on %s", (engine) => {
  it("finds what one inline finds, and files it under the step at which it was due", async () => {
    const run = async (mode: "inline" | "background") => {
      const task = drift();
      const { hook, scores, late } = heard();
      const options = { player: task.player, suites, episodes: 3, schedule: every({ epochs: 2 }), engine };
      const { trainer, hash } = walkRun(task, [hook, evaluationHook({ ...options, mode })]);
      await trainer.train();
      return { scores, late, hash: await hash() };
    };
    const inline = await run("inline");
    const background = await run("background");
    expect(background.scores.map(({ counters }) => counters.epochs)).toEqual([2, 4, 6]);
    expect(background.scores.map(({ scores }) => scores)).toEqual(inline.scores.map(({ scores }) => scores));
    expect(inline.late).toEqual([-1, -1, -1]);
    // Training went on meanwhile: nothing of the thread is there before the next epoch begins.
    expect(background.late[0]).toBeGreaterThanOrEqual(0);
    expect(background.hash).toBe(inline.hash);
  });
});

describeInSample("an evaluation in a thread", () => {
  it("refuses names that a thread does not know before anything is trained", async () => {
    registerEnvironment("Only here", { make: makeDrift });
    const options = { player: drift().player, schedule: every({ epochs: 3 }), mode: "background" as const };
    const of = (env: string) => () => evaluationHook({ ...options, suites: { x: { env } } });
    expect(of("Only here")).toThrow(
      /"Only here" is registered in this thread alone .*\n.*\{ module, name \}/,
    );
    expect(of("CartPole-v2")).toThrow(/did you mean "CartPole-v1".*ENVIRONMENT_UNKNOWN/);
    // Whoever asks a thread all the same hears of it there.
    const thread = new EvaluationThread();
    const { spec: policy, observationSpace, actionSpace } = options.player.policy;
    const asked = thread.evaluate(
      {
        ...{ policy, observationSpace, actionSpace, episodes: 1, seed: 0, deterministic: true },
        ...{ suites: { x: { env: "Only here" } }, vectorCount: 1, engine: "wasm", recorded: 0 },
        state: await toHost({}),
      },
      new AbortController().signal,
    );
    await expect(asked).rejects.toThrow(
      /no environment "Only here".*\n.*registered in one thread or process are not known in another: give \{ module, name \}/,
    );
    await thread.close();
  });

  it("ends with a run that is to end at once, and tells nothing", async () => {
    const task = drift();
    const controller = new AbortController();
    const evaluation = evaluationHook({
      ...{ player: task.player, suites: { endless: { env: here("makeEndless") } } },
      ...{ schedule: every({ epochs: 3 }), mode: "background" },
    });
    const { onEpochEnd } = evaluation;
    const stopped: TrainerHook = {
      ...evaluation,
      onEpochEnd: (context) => onEpochEnd?.(Object.create(context, { signal: { value: controller.signal } })),
    };
    const { trainer } = walkRun(task, [stopped]);
    // The event at which the second is due waits for the first, which never ends by itself.
    setImmediate(() => controller.abort("enough"));
    expect((await trainer.train()).outcome).toBe("completed");
    expect(trainer.hooks.slots.get(evaluationScores)).toBeUndefined();
  });
});

describeInRest("an evaluation in a thread", () => {
  it("waits for the one before, or is left out, as it is told", async () => {
    const count = async (whenBusy: "wait" | "skip") => {
      const task = drift();
      const { hook, scores } = heard();
      const options = { player: task.player, suites, episodes: 1, schedule: every({ epochs: 1 }) };
      await walkRun(task, [
        hook,
        evaluationHook({ ...options, mode: "background", whenBusy }),
      ]).trainer.train();
      return scores.map(({ counters }) => counters.epochs);
    };
    expect(await count("wait")).toEqual([1, 2, 3, 4, 5, 6]);
    // The thread takes longer to start than all six epochs to train.
    expect(await count("skip")).toEqual([1]);
  });

  it("records replays, too", async () => {
    const task = drift();
    const directory = folder();
    const options = { player: task.player, suites, episodes: 2, schedule: every({ epochs: 6 }) };
    const evaluation = evaluationHook({ ...options, mode: "background", replays: { directory } });
    await walkRun(task, [evaluation]).trainer.train();
    const replay = await readReplay(`${directory}/step-000000012-drift-0.replay`);
    expect(verifyReplay(replay, makeDrift())).toEqual({ fits: true });
  });

  it("that fails is told of in its own words, as `onFailure` says", async () => {
    const task = drift();
    const broken = { bad: { env: here("makeBroken") } };
    const options = {
      player: task.player,
      suites: broken,
      schedule: every({ epochs: 3 }),
      mode: "background",
    };
    const evaluation = evaluationHook({ ...options, mode: "background" });
    await expect(walkRun(task, [evaluation]).trainer.train()).rejects.toThrow(
      /hook "evaluation" failed in onEpochEnd: suite "bad": Broken .environment 0 .* step 3 .* it came apart/,
    );
    const missing = { gone: { env: here("makeNothing") } };
    const { trainer, warnings } = walkRun(drift(), [
      evaluationHook({ ...options, suites: missing, mode: "background", onFailure: "warn" }),
    ]);
    expect((await trainer.train()).outcome).toBe("completed");
    expect(warnings.join("\n")).toMatch(/suite "gone": .*no function "makeNothing".*ENVIRONMENT_UNKNOWN/s);
  });
});
