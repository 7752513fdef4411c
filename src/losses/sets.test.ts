import { describe, expect, it } from "vitest";
import { asLoss, objective } from "./index.ts";
import { fit, line, small } from "./losses.test-support.ts";

const aims = (maxSets?: number) =>
  objective({ forward: line, losses: [fit, small, { ...fit, name: "third" }], maxSets });

describe("sets of losses", () => {
  it("are the same however they are written", () => {
    const { perSet } = aims();
    let made = 0;
    const stepFor = perSet((_, names) => ({ made: ++made, names }));
    const first = stepFor(["small", "fit"]);
    expect(first).toEqual({ made: 1, names: ["fit", "small"] });
    expect(stepFor(["fit", "small", "fit"])).toBe(first);
    expect(stepFor(["fit"]).made).toBe(2);
  });

  it("keep several things, counted once", () => {
    const all = aims();
    const train = all.perSet(() => "train");
    const validate = all.perSet(() => undefined);
    expect(train(["fit"])).toBe("train");
    expect(validate(["fit"])).toBeUndefined();
    expect(all.sets).toEqual([["fit"]]);
  });

  it("are capped, with all of them named, and what is there stays", () => {
    const few = aims(2);
    const stepFor = few.perSet((_, names) => names.join());
    stepFor(["fit"]);
    stepFor(["fit", "small"]);
    expect(() => stepFor(["third"])).toThrow(
      /\(third\) are one more set than the 2 compiled already: \(fit\), \(fit \+ small\) \[LOSS_SETS_TOO_MANY\]\n.*maxSets/,
    );
    expect(stepFor(["fit"])).toBe("fit");
    expect(few.sets).toHaveLength(2);
  });

  it("may be 16 unless told", () => {
    const many = objective({
      forward: line,
      losses: Array.from({ length: 5 }, (_, i) => ({ ...fit, name: `loss${i}` })),
    });
    const stepFor = many.perSet(() => 0);
    const sets = Array.from({ length: 17 }, (_, i) =>
      many.names.filter((_name, bit) => (i + 1) & (1 << bit)),
    );
    for (const set of sets.slice(0, 16)) stepFor(set);
    expect(() => stepFor(sets[16] ?? [])).toThrow(/LOSS_SETS_TOO_MANY/);
  });

  it("do not count one whose making failed", () => {
    const few = aims(1);
    const fails = few.perSet(() => {
      throw new Error("no");
    });
    expect(() => fails(["fit"])).toThrow("no");
    expect(few.sets).toEqual([]);
  });
});

describe("asLoss", () => {
  it("names a function by itself unless told, and leaves losses as they are", () => {
    const distance = () => ({}) as never;
    expect(asLoss(distance).name).toBe("distance");
    expect(asLoss(distance, "far").name).toBe("far");
    expect(asLoss(() => ({}) as never).name).toBe("loss");
    expect(asLoss(fit)).toBe(fit);
  });
});
