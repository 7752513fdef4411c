import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { describeFailure } from "../cli/program.ts";
import { HookManager } from "../hooks/index.ts";
import {
  checkpointHook,
  compile,
  consoleSink,
  EspalierError,
  every,
  Logger,
  metricsHook,
  nn,
  np,
  optim,
  type Sink,
  setEngine,
  Trainer,
  type TrainerEvents,
  trainingConfig,
} from "../index.ts";
import { dqn, makeEnvironment, ppo } from "../rl/index.ts";
import { supervisedTask, supervisedTrainer } from "../supervised/index.ts";
import { trainerEvents } from "../trainer/index.ts";
import { FakeTask } from "../trainer/task.test-support.ts";

/** Clears the screen, sets the title, rings the bell, turns the line around, and does so in eight bits, too. */
const evil = "a\x1b[2J\x1b]0;owned\x07\u202e\x9b31m\rb";
const obeyed = /(?!\n)[\p{Cc}\p{Cf}]/u;
/** As names are written, and as values are, in JSON. */
const escaped = /\\x1b\[2J|\\u001b\[2J/;

const sink = (): Sink => ({
  name: evil,
  write: () => {
    throw new EspalierError("SINK_UNUSABLE", evil);
  },
});

const fails = () => {
  throw new Error(evil);
};

describe("control characters of names and values", () => {
  const env = "CartPole-v1";
  const task = new FakeTask();
  const calls: Readonly<Record<string, () => unknown>> = {
    "an option of ppo": () => ppo({ env, [evil]: 1 } as never),
    "a word of ppo": () => ppo({ env, preset: evil } as never),
    "an environment": () => makeEnvironment(evil),
    "an environment of ppo": () => ppo({ env: evil, engine: "wasm" }).train({ steps: 64 }),
    "an option of dqn": () => dqn({ env, [evil]: 1 } as never),
    "a field of the configuration": () => trainingConfig({ [evil]: 1 } as never),
    "a value of the configuration": () => trainingConfig({ epochs: evil } as never),
    "an option of supervisedTrainer": () => supervisedTrainer({ [evil]: 1 } as never),
    "an option of supervisedTask": () => supervisedTask({ [evil]: 1 } as never),
    "an option of an optimizer": () => optim.adam({ [evil]: 1 } as never),
    "a value of an optimizer": () => optim.adam({ learningRate: evil } as never),
    "an option of a layer": () => nn.mlp({ hidden: [2], [evil]: 1 } as never),
    "a unit of a schedule": () => every({ updates: 1, [evil]: 1 } as never),
    "an option of checkpointHook": () => checkpointHook({ directory: "x", [evil]: 1 } as never),
    "an option of metricsHook": () => metricsHook({ [evil]: 1 } as never),
    "an event of a hook": () =>
      new Trainer({ task, hooks: [{ name: "h", [`onE${evil}`]: () => 1 } as never] }),
    "hooks of one name": () =>
      new Trainer({
        task,
        hooks: [
          { name: evil, onEpochEnd: () => 1 },
          { name: evil, onEpochEnd: () => 1 },
        ],
      }),
    "sinks of one name": () => new Logger({ sinks: [sink(), sink()] }),
    "an engine": () => setEngine(evil as never),
    "an element type": () => compile(() => np.zeros([2], { dtype: evil as never }))(),
    "a failing hook": () => new Trainer({ task, hooks: [{ name: evil, onEpochEnd: fails }] }).train(),
  };

  it.each(Object.keys(calls))("reach no terminal through the error of %s", async (what) => {
    const error = await Promise.resolve()
      .then(calls[what])
      .then(
        () => new Error("it was taken"),
        (cause: Error) => cause,
      );
    expect(error.name).toBe("EspalierError");
    expect(error.message).toMatch(escaped);
    expect(error.message).not.toMatch(obeyed);
    for (const debug of [false, true])
      expect(stripVTControlCharacters(describeFailure(error, debug))).not.toMatch(obeyed);
  });

  it("reach no terminal through warnings and traces of a run, plans and explanations", async () => {
    const lines: string[] = [];
    const trainer = new Trainer({
      task: new FakeTask(),
      config: { epochs: 2, trace: (line) => lines.push(line) },
      warn: (text) => lines.push(text),
      hooks: [
        { name: evil, schedule: every({ epochs: 1 }), onFailure: "warn", onEpochEnd: fails },
        { name: "other", after: [evil], onEpochEnd: () => undefined },
      ],
    });
    await trainer.train();
    lines.push(trainer.hooks.plan().text, trainer.hooks.explain(evil, "onEpochStart", {} as never).text);
    expect(lines.filter((line) => escaped.test(line)).length).toBeGreaterThan(4);
    expect(lines.filter((line) => obeyed.test(line))).toEqual([]);
  });

  it("reach no terminal through the doubts of a manager of hooks", () => {
    const lines: string[] = [];
    const hooks = new HookManager<TrainerEvents>({ events: trainerEvents, warn: (text) => lines.push(text) });
    hooks.register({ name: "other", after: [`${evil}c`], onEpochEnd: () => undefined });
    hooks.register({ name: `${evil}cc`, onEpochEnd: () => undefined });
    hooks.plan();
    expect(lines.join("\n")).not.toMatch(obeyed);
  });

  it("reach no terminal through a sink that fails", async () => {
    const lines: string[] = [];
    const logger = new Logger({ sinks: [sink()], warn: (text) => lines.push(text) });
    logger.log({ loss: 1 }, 1);
    await logger.close();
    expect(lines.join("\n")).toMatch(escaped);
    expect(lines.join("\n")).not.toMatch(obeyed);
  });

  it("reach no terminal through the console, where names of a megabyte are cut", async () => {
    let printed = "";
    const stream = new Writable({
      write: (chunk, _, done) => {
        printed += chunk;
        done();
      },
    });
    const logger = new Logger({ sinks: [consoleSink({ stream })] });
    const name = `${evil}${"n".repeat(1_000_000)}`;
    logger.open({ id: "1", name, startedAt: 0, config: null });
    logger.log({ [evil]: 1, ["m".repeat(1_000_000)]: 2 }, 1, evil);
    await logger.close();
    expect(printed).toMatch(escaped);
    expect(printed).toContain(`(${name.length} characters)`);
    expect(printed).not.toMatch(obeyed);
    expect(printed.length).toBeLessThan(5000);
  });
});
