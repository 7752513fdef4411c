// Everything but training itself is a hook. New ideas: a hook as an object and as a class, a slot through which one
// hook tells another something, and the order that follows from it. Together these two end the run once unseen
// points have stopped getting better.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import {
  compile,
  every,
  nn,
  np,
  optim,
  PeriodicHook,
  random,
  slot,
  Trainer,
  type TrainerContext,
  type TrainerHook,
} from "espalier";
import { supervisedTask } from "espalier/supervised";

/** What hooks share: the best loss on unseen points so far and the epoch it was reached in. */
const best = slot<{ readonly loss: number; readonly epoch: number }>("best");

/** As an object: after each validation, remembers the best. */
export const rememberBest: TrainerHook = {
  name: "remember best",
  provides: [best],
  onValidationEnd({ state, slots }) {
    const loss = state.validation?.loss ?? Number.POSITIVE_INFINITY;
    if (loss < (slots.get(best)?.loss ?? Number.POSITIVE_INFINITY))
      slots.set(best, { loss, epoch: state.counters.epoch });
  },
};

/** As a class: a periodic hook, which ends the run when the best is too long ago. */
export class Patience extends PeriodicHook<TrainerContext> {
  readonly needs = [best];
  readonly #epochs: number;

  constructor(epochs: number) {
    super({ name: "patience", schedule: every({ epochs: 1 }), on: "onValidationEnd" });
    this.#epochs = epochs;
  }

  override run({ counters, slots, stop }: TrainerContext) {
    const reached = slots.get(best)?.epoch ?? 0;
    if (counters.epoch - reached >= this.#epochs) stop(`nothing better since epoch ${reached}`);
  }
}

/** Few noisy points of a curve: easy to learn by heart, so that unseen points get worse again. */
export const points = compile(
  (seed: number) => {
    const x = random.uniform(random.key(seed), [40, 1]).mul(4).sub(2);
    return { x, y: np.sin(x.mul(2)).add(random.normal(random.key(seed + 100), [40, 1]).mul(0.3)) };
  },
  { static: [0] },
);

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const task = supervisedTask({
    model: nn.mlp({ hidden: [64, 64], out: 1, activation: nn.tanh }),
    optimizer: optim.adam({ learningRate: 5e-3 }),
    data: points(3),
    validation: points(4),
    loss: nn.mse,
    batchSize: 20,
  });

  // Registered the wrong way round on purpose: the slot puts them right.
  const trainer = new Trainer({ task, config: { epochs: 1000 }, hooks: [new Patience(30), rememberBest] });
  console.log(trainer.hooks.plan().text);
  const { outcome, reason, counters, validation } = await trainer.train();
  console.log(`${outcome} after ${counters.epochs} epochs: ${reason}`);
  console.log(trainer.hooks.explain("patience", "onEpochEnd", { counters }).text);

  assert.deepEqual(trainer.hooks.plan().order, ["remember best", "patience"]);
  assert.equal(outcome, "stopped");
  assert.ok(counters.epochs < 1000, "it ended by itself");
  assert.ok((validation?.loss ?? 1) < 0.3, "having learnt the curve");
}
