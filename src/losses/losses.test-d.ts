import { expectTypeOf } from "vitest";
import { compile, np, type Tensor, type Value } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import { asLoss, type Evaluate, type Loss, objective } from "./index.ts";

// Losses as users write them: types come from the forward pass, no casts anywhere.

interface Batch {
  readonly x: Value;
  readonly labels: Value;
}
declare const model: nn.Model;

const aims = objective({
  forward: (params, batch: Batch, options) => ({ logits: model.apply(params, batch.x, options), scale: 2 }),
  losses: [
    function labels({ logits }, batch) {
      expectTypeOf(batch).toEqualTypeOf<Batch>();
      return nn.crossEntropy(logits, batch.labels);
    },
    {
      name: "decay",
      weight: 0.1,
      reads: ["norm"],
      term: ({ outputs, batch, params, read, train, key }) => {
        expectTypeOf(outputs).toEqualTypeOf<{ logits: Value; scale: number }>();
        expectTypeOf(batch.x).toEqualTypeOf<Value>();
        expectTypeOf(params).toEqualTypeOf<nn.Params>();
        expectTypeOf(read("norm")).toEqualTypeOf<Value>();
        expectTypeOf(train).toEqualTypeOf<boolean>();
        expectTypeOf(key).toEqualTypeOf<Value>();
        return { loss: np.sum(read("norm")) };
      },
    },
  ],
});

const stepFor = aims.perSet((evaluate, names) => {
  expectTypeOf(evaluate).toEqualTypeOf<Evaluate<Batch>>();
  expectTypeOf(names).toEqualTypeOf<readonly string[]>();
  return compile((params: nn.Params, batch: Batch, weights: Readonly<Record<string, Value>>, key: Value) =>
    evaluate(params, batch, weights, { train: true, key }),
  );
});
declare const params: nn.Params<Tensor>;
declare const x: Tensor;
const { loss, metrics } = stepFor(["labels"])(params, { x, labels: x }, { "weight.decay": 0.5 }, x);
expectTypeOf(loss).toEqualTypeOf<Tensor>();
expectTypeOf(metrics["labels.loss"]).toEqualTypeOf<Tensor | undefined>();

expectTypeOf(asLoss((y: Value, { labels }: Batch) => nn.crossEntropy(y, labels))).toEqualTypeOf<
  Loss<Batch, Value>
>();

// @ts-expect-error no such option
objective({ forward: (_params, batch: Batch) => batch.x, losses: [], maxSet: 3 });
objective({
  forward: (_params, batch: Batch) => batch.x,
  // @ts-expect-error no such field in the batch
  losses: [(y, batch) => nn.mse(y, batch.targets)],
});
// @ts-expect-error phases are rollout and train
const phase: Loss["active"] = { training: undefined };
// @ts-expect-error element types have names
const field: Loss["fields"] = { x: { shape: [1], dtype: "float" } };
expectTypeOf(phase).toEqualTypeOf<Loss["active"]>();
expectTypeOf(field).toEqualTypeOf<Loss["fields"]>();
