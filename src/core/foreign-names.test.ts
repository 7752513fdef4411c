import { describe, expect, it } from "vitest";
import {
  checkpointHook,
  EspalierError,
  jsonlSink,
  Logger,
  metricsHook,
  nn,
  optim,
  Trainer,
  tensorBoardSink,
  trainingConfig,
} from "../index.ts";
import { a2c, dqn, dqnTask, onPolicyTask, ppo, vectorEnvironment } from "../rl/index.ts";
import { supervisedConfig, supervisedTask, supervisedTrainer } from "../supervised/index.ts";
import { foreignNames } from "./foreign-names.ts";

type Call = (options: never) => unknown;
const env = "CartPole-v1";

/** Public calls that take options. */
const calls: Readonly<Record<string, Call>> = {
  ppo,
  a2c,
  dqn,
  onPolicyTask,
  dqnTask,
  vectorEnvironment,
  "agent.train": (options) => ppo({ env, engine: "wasm" }).train(options),
  "agent.evaluate": (options) => ppo({ env, engine: "wasm" }).evaluate(options),
  trainingConfig,
  supervisedConfig,
  supervisedTask,
  supervisedTrainer,
  "supervisedTrainer.train": (options) => supervisedTrainer({ model: nn.dense(2) }).train(options),
  Trainer: (options) => new Trainer(options),
  Logger: (options) => new Logger(options),
  checkpointHook,
  metricsHook,
  jsonlSink: (options) => jsonlSink("x.jsonl", options),
  tensorBoardSink: (options) => tensorBoardSink("x", options),
  "optim.adam": optim.adam,
  "optim.adamw": optim.adamw,
  "optim.sgd": optim.sgd,
  "nn.mlp": nn.mlp,
  "nn.dense": (options) => nn.dense(2, options),
  "nn.conv2d": (options) => nn.conv2d(2, 3, options),
  "nn.multiHeadAttention": nn.multiHeadAttention,
};

async function refusal(call: Call, options: object): Promise<EspalierError> {
  try {
    await call(options as never);
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(options)} was taken`);
}

/** The names that a call knows: the fix of an unknown one lists them. */
const namesOf = async (call: Call): Promise<readonly string[]> =>
  ((await refusal(call, { "%": 1 })).fix ?? "").replace(/^.* are /, "").split(", ");

const known = new Map(
  await Promise.all(Object.entries(calls).map(async ([name, call]) => [name, await namesOf(call)] as const)),
);

describe("names of other libraries", () => {
  it("lead to names that exist", () => {
    const all = new Set([...known.values()].flat());
    const configured = new Set([
      ...(known.get("supervisedConfig") ?? []),
      ...(known.get("trainingConfig") ?? []),
    ]);
    const lost = foreignNames
      .flatMap(({ ours }) => ours)
      .filter((name) => {
        const [option = "", field] = name.split(".");
        return !all.has(option) || (field !== undefined && !configured.has(field));
      });
    expect(lost).toEqual([]);
  });

  it("are each in one row", () => {
    const theirs = foreignNames.flatMap((row) =>
      row.theirs.split(" ").map((name) => name.replaceAll("_", "")),
    );
    expect(theirs.filter((name, i) => theirs.indexOf(name) !== i)).toEqual([]);
  });

  it("get ours as a hint from every call that has it, in both spellings", async () => {
    let hints = 0;
    for (const { theirs, ours } of foreignNames)
      for (const snake of theirs.split(" "))
        for (const name of new Set([snake, snake.replace(/_(.)/g, (_, letter) => letter.toUpperCase())]))
          for (const [place, call] of Object.entries(calls)) {
            const here = known.get(place) ?? [];
            const there = ours.filter((each) => each !== name && here.includes(each.split(".")[0] ?? ""));
            if (here.includes(name) || there.length === 0) continue;
            const { message } = await refusal(call, { [name]: 1 });
            for (const each of there) expect(message, place).toContain(each.split(".").at(-1));
            expect(message.split("\n")[0], place).toMatch(/did you mean/);
            hints++;
          }
    expect(hints).toBeGreaterThan(500);
  });

  it.each([
    ["ppo", "n_envs", "environments"],
    ["ppo", "numEnvs", "environments"],
    ["ppo", "nSteps", "rolloutSteps"],
    ["ppo", "batch_size", "minibatches"],
    ["ppo", "entCoef", "entropyWeight"],
    ["ppo", "vf_coef", "valueWeight"],
    ["ppo", "gae_lambda", "lambda"],
    ["ppo", "clip_range", "clip"],
    ["ppo", "max_grad_norm", "maxNorm"],
    ["ppo", "n_epochs", "updateEpochs"],
    ["ppo", "total_timesteps", "totalSteps"],
    ["ppo", "policy_kwargs", "policy"],
    ["dqn", "buffer_size", "capacity"],
    ["agent.train", "callbacks", "hooks"],
    ["agent.train", "total_timesteps", "steps"],
    ["trainingConfig", "max_epochs", "epochs"],
    ["supervisedConfig", "lr", "learningRate"],
    ["supervisedConfig", "gradient_accumulation_steps", "accumulate"],
    ["supervisedConfig", "warmup_steps", "warmup"],
    ["supervisedTrainer", "callbacks", "hooks"],
    ["supervisedTrainer", "epochs", "trainingConfig: { epochs }"],
    ["supervisedTrainer.train", "validation_data", "valData"],
    ["supervisedTask", "val_data", "validation"],
    ["Trainer", "callbacks", "hooks"],
    ["optim.adam", "lr", "learningRate"],
    ["optim.adam", "eps", "epsilon"],
    ["nn.mlp", "hidden_sizes", "hidden"],
  ])("%s({ %s }) is told of %s", async (place, given, ours) => {
    const error = await refusal(calls[place] as Call, { [given]: 1 });
    expect(error.message.split("\n")[0]).toMatch(/did you mean/);
    expect(error.message.split("\n")[0]).toContain(ours);
  });
});
