import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { compile, np, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { every } from "../schedule/index.ts";
import { asLoss, objective } from "./index.ts";
import type { Loss, LossTerm } from "./loss.ts";
import { fit, line, type Points, ramp, small, start } from "./losses.test-support.ts";

type PointLoss = Loss<Points, Value>;
const named = (name: string, more: Partial<PointLoss> = {}): PointLoss => ({ ...fit, name, ...more });
const make = (losses: readonly PointLoss[], more = {}) => objective({ forward: line, losses, ...more });

function failure(run: () => unknown): EspalierError {
  try {
    run();
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("an objective refuses", () => {
  it.each<[string, string, RegExp, () => unknown]>([
    ["no losses", "LOSS_NONE", /no losses/, () => make([])],
    ["two of one name", "LOSS_DUPLICATE", /two losses are called "fit"/, () => make([fit, small, fit])],
    ["an empty name", "LOSS_INVALID", /the name ""/, () => make([named("")])],
    [
      "an unknown option",
      "OPTION_UNKNOWN",
      /"maxSet"; did you mean "maxSets"/,
      () => make([fit], { maxSet: 3 }),
    ],
    ["no room for sets", "OPTION_INVALID", /maxSets is 0/, () => make([fit], { maxSets: 0 })],
    [
      "a misspelt member",
      "LOSS_INVALID",
      /"fit": "weigth" means nothing; did you mean "weight"/,
      () => make([{ ...fit, weigth: 2 } as PointLoss]),
    ],
    [
      "a weight that is no number",
      "LOSS_INVALID",
      /weight is NaN/,
      () => make([named("a", { weight: Number.NaN })]),
    ],
    [
      "a weight that is a list of numbers",
      "LOSS_INVALID",
      /weight is 1,2/,
      () => make([named("a", { weight: Float32Array.of(1, 2) as never })]),
    ],
    [
      "a schedule without its phase",
      "LOSS_INVALID",
      /loss "a": active has "due"/,
      () => make([named("a", { active: every({ epochs: 2 }) as never })]),
    ],
    [
      "what is no loss",
      "LOSS_INVALID",
      /an object called "a" without term/,
      () => asLoss({ name: "a" } as never),
    ],
    [
      "a value that no loss gives",
      "LOSS_VALUE_UNKNOWN",
      /loss "b" reads the value "advantage", which no loss gives; did you mean "advantages"/,
      () => make([named("a", { gives: ["advantages"] }), named("b", { reads: ["advantage"] })]),
    ],
    [
      "a value that two losses give",
      "LOSS_VALUE_CONFLICT",
      /losses "a" and "b" both give the value "x"/,
      () => make([named("a", { gives: ["x"] }), named("b", { gives: ["x"] })]),
    ],
    [
      "losses that wait for each other",
      "LOSS_CYCLE",
      /"a" reads "y" of "c", "c" reads "x" of "a"/,
      () =>
        make([
          named("a", { gives: ["x"], reads: ["y"] }),
          named("b"),
          named("c", { gives: ["y"], reads: ["x"] }),
        ]),
    ],
    [
      "a loss that waits for itself",
      "LOSS_CYCLE",
      /"a" reads "x" of "a"/,
      () => make([named("a", { gives: ["x"], reads: ["x"] })]),
    ],
    [
      "a set with a loss it has not",
      "LOSS_UNKNOWN",
      /no loss "fitt"; did you mean "fit"/,
      () => make([fit]).evaluate(["fitt"]),
    ],
  ])("%s", (_, code, message, run) => {
    const error = failure(run);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.fix).toBeTruthy();
  });
});

describe("a term is refused", () => {
  const { params, batch } = start("wasm");
  const trace = (losses: readonly PointLoss[], weights = {}) =>
    failure(() => {
      const { evaluate, names } = make(losses);
      compile((p: Params, b: Points) => evaluate(names)(p, b, weights), { engine: "wasm" })(params, batch);
    });
  const giving = (term: (outputs: Value) => unknown, more: Partial<PointLoss> = {}): PointLoss[] => [
    named("a", { ...more, term: ({ outputs }) => term(outputs) as LossTerm }),
  ];

  it.each<[string, string, RegExp, readonly PointLoss[]]>([
    ["that is not one number", "LOSS_NOT_SCALAR", /loss "a" gave f32\[3\]/, giving((loss) => ({ loss }))],
    ["that is nothing", "LOSS_NOT_SCALAR", /loss "a" gave undefined/, giving(() => undefined)],
    ["that is a plain number", "LOSS_NOT_SCALAR", /loss "a" gave 3,/, giving(() => 3)],
    [
      "that comes later",
      "LOSS_NOT_SCALAR",
      /loss "a" gave a promise/,
      giving(async (y) => ({ loss: np.mean(y) })),
    ],
    [
      "whose metric is not a scalar",
      "LOSS_METRIC_NOT_SCALAR",
      /loss "a": the metric "all" is f32\[3\]/,
      giving((y) => ({ loss: np.mean(y), metrics: { all: y } })),
    ],
    [
      "whose metric takes the term's own name",
      "LOSS_METRIC_CONFLICT",
      /"a.loss" is reported already/,
      giving((y) => ({ loss: np.mean(y), metrics: { loss: np.mean(y) } })),
    ],
    [
      "that gives what it does not declare",
      "LOSS_VALUE_UNDECLARED",
      /loss "a" gave the value "y" without saying so/,
      giving((y) => ({ loss: np.mean(y), values: { y } })),
    ],
    [
      "that does not give what it declares",
      "LOSS_VALUE_UNDECLARED",
      /loss "a" says that it gives the value "y", and gave none/,
      giving((y) => ({ loss: np.mean(y) }), { gives: ["y"] }),
    ],
    [
      "that reads what it does not declare",
      "LOSS_VALUE_UNDECLARED",
      /loss "b" reads "y" without saying so/,
      [
        ...giving((y) => ({ loss: np.mean(y), values: { y } }), { gives: ["y"] }),
        named("b", { term: ({ read }) => ({ loss: np.mean(read("y")) }) }),
      ],
    ],
    [
      "that draws numbers without a key",
      "LOSS_KEY_MISSING",
      /loss "a" draws random numbers/,
      [named("a", { term: ({ key }) => ({ loss: np.mean(key) }) })],
    ],
    [
      "whose weight was not given",
      "LOSS_WEIGHT_MISSING",
      /loss "a" has a ramp for its weight/,
      [named("a", { weight: ramp(() => 1) })],
    ],
    [
      "that fails, under its name",
      "SHAPE_MISMATCH",
      /at "loss a": /,
      [named("a", { term: ({ outputs, batch: { x } }) => ({ loss: np.mean(np.add(outputs, x)) }) })],
    ],
  ])("%s", (_, code, message, losses) => {
    const error = trace(losses);
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
  });
});
