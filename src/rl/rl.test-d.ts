import { expectTypeOf } from "vitest";
import type { Value } from "../engine/index.ts";
import type { Ramp } from "../schedule/index.ts";
import { loadActor } from "./acting/actor.ts";
import { cartPole, compiledCartPole } from "./environments/classics/cart-pole.ts";
import type { CompiledEnvironment } from "./environments/compiled.ts";
import { compiledEnvironment, registerEnvironment } from "./environments/registry.ts";
import { autoUpdateEpochs } from "./experience/update-epochs.ts";
import type { OnPolicyOptions } from "./on-policy/options.ts";
import type { OnPolicyTask } from "./on-policy/task.ts";
import { type A2cSettings, a2c } from "./presets/a2c.ts";
import type { Agent } from "./presets/agent.ts";
import { dqn } from "./presets/dqn.ts";
import { type PpoSettings, ppo } from "./presets/ppo.ts";
import type { SpaceValue } from "./spaces/space.ts";

// Agents as users write them.

const agent = ppo({
  env: "CartPole-v1",
  preset: "cleanrl",
  rolloutSteps: 64,
  valueClip: "none",
  compiled: false,
});
expectTypeOf(agent).toExtend<Agent<OnPolicyTask, PpoSettings>>();
expectTypeOf(agent.settings).toEqualTypeOf<PpoSettings>();
expectTypeOf(agent.settings.clip).toEqualTypeOf<number | Ramp>();
ppo({ env: "CartPole-v1", updateEpochs: autoUpdateEpochs({ max: 4 }), targetKl: 0.02 });
void agent.train({ hooks: ({ player }) => [{ name: player.policy.distribution.kind }] });

const simple = a2c({ env: { module: "file:///world.js", name: "makeWorld" }, threads: 2, decay: 0.95 });
expectTypeOf(simple.settings).toEqualTypeOf<A2cSettings>();
expectTypeOf(dqn({ env: "CartPole-v1", double: true }).task.buffer.ready).toEqualTypeOf<boolean>();

const pilot = await agent.actor<number>({ deterministic: false, seed: 3 });
expectTypeOf(pilot.act([0, 0, 0, 0])).toEqualTypeOf<number>();
expectTypeOf(pilot.actAll([Float32Array.of(0, 0, 0, 0)], [[1, 0]])).toEqualTypeOf<number[]>();
expectTypeOf((await loadActor("runs/cartpole")).act({ seen: [1], gear: 2 })).toEqualTypeOf<SpaceValue>();
(await loadActor("runs/cartpole")).act([0, 1], [true, false]); // A mask as defineEnvironment takes it.
void agent.train({ progress: false });
// A compiled environment is registered and trained on as it is.
declare const corridor: CompiledEnvironment<{
  readonly at: Value;
  readonly inside: { readonly steps: Value };
}>;
registerEnvironment("Corridor", { make: cartPole, compiled: () => corridor });
expectTypeOf({ compiled: corridor, count: 2 }).toExtend<OnPolicyOptions["env"]>();
expectTypeOf({ compiled: compiledCartPole(), count: 2 }).toExtend<OnPolicyOptions["env"]>();
expectTypeOf({ compiled: compiledEnvironment("Corridor"), count: 2 }).toExtend<OnPolicyOptions["env"]>();

// @ts-expect-error an action is of a space
void agent.actor<string>();
// @ts-expect-error misspelt
void loadActor("runs/cartpole", { counts: 2 });

// @ts-expect-error an environment is needed
ppo({ rolloutSteps: 64 });
// @ts-expect-error misspelt
ppo({ env: "CartPole-v1", minibatch: 4 });
// @ts-expect-error no such preset
ppo({ env: "CartPole-v1", preset: "sb4" });
// @ts-expect-error words have their own spelling
ppo({ env: "CartPole-v1", normalizeAdvantages: "mini-batch" });
// @ts-expect-error PPO clips, A2C does not
a2c({ env: "CartPole-v1", clip: 0.2 });
// @ts-expect-error one update from each rollout
a2c({ env: "CartPole-v1", updateEpochs: 4 });
// @ts-expect-error DQN's environments are not compiled
dqn({ env: "CartPole-v1", compiled: true });
// @ts-expect-error epochs follow from steps
void agent.train({ config: { epochs: 3 } });
// @ts-expect-error misspelt
void agent.evaluate({ episode: 20 });
// @ts-expect-error a tower is described by its kind
ppo({ env: "CartPole-v1", policy: { encoder: { kind: "mpl" } } });
