import { afterEach, describe, expect, it } from "vitest";
import { engine, setEngine } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { registerEnvironment } from "../environments/registry.ts";
import { valueLoss } from "../losses/actor-critic.ts";
import { matching } from "../on-policy/worlds.test-support.ts";
import { a2c, a2cSettings } from "./a2c.ts";
import { dqn } from "./dqn.ts";
import { environmentsOf } from "./environments.ts";
import { ppo, ppoSettings } from "./ppo.ts";

registerEnvironment("Matching", { make: matching.make, compiled: () => matching.compiled });
const small = { encoder: { kind: "mlp", hidden: [16] } } as const;
const isCompiled = (choice: Omit<Parameters<typeof environmentsOf>[1], "env">, env = "Matching") =>
  "compiled" in environmentsOf("agent", { env, ...choice }, 2);

describe("where environments run", () => {
  const engines = testEngines();
  afterEach(() => setEngine("auto"));

  it("is the compiled program where the engine is xla and there is such a form", () => {
    expect(isCompiled({ engine: "wasm" })).toBe(false);
    expect(isCompiled({})).toBe(engine().name === "xla");
    setEngine("wasm");
    expect(isCompiled({})).toBe(false);
    if (!engines.includes("xla")) return;
    expect(isCompiled({ engine: "xla" })).toBe(true);
    expect(isCompiled({ engine: "auto" })).toBe(true);
    setEngine("auto");
    expect(isCompiled({ device: engine("wasm").devices[0] as never })).toBe(false);
    expect(isCompiled({ compiled: false })).toBe(false);
    expect("compiled" in environmentsOf("agent", { env: matching.make }, 2)).toBe(false);
  });

  it("is where one says", () => {
    expect(isCompiled({ engine: "wasm", compiled: true })).toBe(true);
    expect(() => environmentsOf("ppo", { env: matching.make, compiled: true }, 2)).toThrow(
      /ppo: there is no compiled form of this environment.*registerEnvironment/s,
    );
    expect(() => isCompiled({ compiled: true, threads: 2 })).toThrow(/have no threads, and threads is 2/);
    expect(() => environmentsOf("ppo", { env: matching.make, threads: 2 }, 2)).toThrow(
      /env is a function, which threads cannot be given/,
    );
    expect(() =>
      environmentsOf("ppo", { env: { module: "file:///a.js", name: "a" }, threads: 0 }, 2),
    ).toThrow(/env is a file, which only threads load/);
    expect(() => isCompiled({}, "Matchin")).toThrow(/no environment "Matchin"; did you mean "Matching"/);
  });
});

describe("an agent", () => {
  it("refuses what it does not know, and no environment", () => {
    expect(() => ppo({ env: "Matching", clipp: 1 } as never)).toThrow(/"clipp"; did you mean "clip"/);
    expect(() => ppo({ env: "Matching", preset: "best" } as never)).toThrow(/preset is "best"/);
    expect(() => a2c({ env: "Matching", updateEpochs: 2 } as never)).toThrow(/no option "updateEpochs"/);
    expect(() => dqn({ env: "Matching", compiled: true } as never)).toThrow(/no option "compiled"/);
    expect(() => ppo({} as never)).toThrow(/ppo: env is (missing|undefined)/);
    expect(() => ppo({ env: "Matching" }).task).toThrow(/no run yet.*NOT_TRAINED/s);
  });

  it("counts the steps of all agents", async () => {
    for (const compiled of [true, false]) {
      const more = { env: "GridWorldTeam-v0", environments: 3, rolloutSteps: 8, policy: small } as const;
      const agent = ppo({ ...more, compiled, minibatches: 1, updateEpochs: 1, engine: "wasm" });
      const { task, config } = agent.setup({ steps: 4 * 8 * 3 * 2 });
      expect(agent.task.samplesPerEpoch).toBe(48);
      expect(config?.epochs).toBe(4);
      expect(agent.task).toBe(task);
      const { counters } = await agent.train({ steps: 100 });
      expect(counters).toMatchObject({ epochs: 3, samples: 144 });
      agent.close();
    }
  });

  it("ends its environments where they do not make a task, or the steps are refused", () => {
    let [made, closed] = [0, 0];
    const env = () => {
      made++;
      return Object.assign(matching.make(), { close: () => void closed++ });
    };
    const own = { env, environments: 2, engine: "wasm" } as const;
    expect(() => ppo({ ...own, losses: [valueLoss()] }).setup()).toThrow(/"value"/);
    expect(made).toBeGreaterThanOrEqual(2);
    expect(closed).toBe(made);
    expect(() => dqn(own).setup({ steps: 100 })).toThrow(/nothing would be learned/);
    expect(closed).toBe(made);
  });

  it("has the settings of its environment, of a preset, and those given", () => {
    expect(ppo({ env: "CartPole-v1" }).settings).toEqual(ppoSettings("tuned", "CartPole-v1"));
    expect(ppo({ env: matching.make }).settings).toEqual(ppoSettings("cleanrl", "any"));
    const { settings } = ppo({ env: "CartPole-v1", preset: "cleanrl", valueClip: "none", gamma: 0.5 });
    expect(settings).toEqual({ ...ppoSettings("cleanrl", ""), valueClip: "none", gamma: 0.5 });
    expect(a2c({ env: "CartPole-v1", rolloutSteps: 9 }).settings).toEqual({
      ...a2cSettings(),
      rolloutSteps: 9,
    });
  });

  it("takes losses beside its own, and falls to 0 by the end of the run", async () => {
    const agent = ppo({
      ...{ env: "Matching", compiled: true, environments: 2, rolloutSteps: 8, policy: small, engine: "wasm" },
      losses: [valueLoss({ name: "further" })],
    });
    const { metrics } = await agent.train({ steps: 64 });
    expect(Object.keys(metrics)).toEqual(expect.arrayContaining(["policy.loss", "further.loss"]));
    const rate = agent.task.ramps.learningRate;
    const at = (epochs: number) => rate?.at({ epoch: epochs, epochs } as never);
    expect([at(0), at(2), at(4)]).toEqual([2.5e-4, 1.25e-4, 0]);
  });
});
