import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { every } from "../schedule/index.ts";
import { failureOf, type TestHook, testHost } from "./hooks.test-support.ts";
import { slot } from "./slots.ts";

const scores = slot<number>("evaluation.scores");
const files = slot<string>("checkpoint.newest");
const onEpochEnd = (): void => {};

const orderOf = (...hooks: readonly Omit<TestHook, "onEpochEnd">[]): readonly string[] =>
  testHost()
    .register(...hooks.map((hook) => ({ ...hook, onEpochEnd })))
    .manager.plan().order;

describe("the order of hooks", () => {
  it("is that of registration where nothing else is said", () => {
    expect(orderOf({ name: "b" }, { name: "a" }, { name: "c" })).toEqual(["b", "a", "c"]);
  });

  it("puts who provides a slot before who needs or wants it", () => {
    expect(
      orderOf(
        { name: "checkpoint", needs: [scores] },
        { name: "metrics", wants: [scores] },
        { name: "evaluation", provides: [scores] },
      ),
    ).toEqual(["evaluation", "checkpoint", "metrics"]);
  });

  it("follows after and before", () => {
    expect(orderOf({ name: "a", after: ["b"] }, { name: "b" }, { name: "c", before: ["b"] })).toEqual([
      "c",
      "b",
      "a",
    ]);
  });

  it("puts the greater priority first, among those that are free", () => {
    expect(
      orderOf(
        { name: "low", priority: -1 },
        { name: "plain" },
        { name: "late", priority: 9, after: ["low"] },
        { name: "high", priority: 5 },
      ),
    ).toEqual(["high", "plain", "low", "late"]);
  });

  it("leaves out slots that nobody provides and are only wanted, and names that are not there", () => {
    expect(orderOf({ name: "a", wants: [scores], after: ["something"] }, { name: "b" })).toEqual(["a", "b"]);
  });

  it("lets a hook read what it provides itself", () => {
    expect(orderOf({ name: "a", provides: [scores], needs: [scores], wants: [scores] })).toEqual(["a"]);
  });

  it("is the order in which they run", () => {
    const ran: string[] = [];
    const hook = (name: string, more: Partial<TestHook>): TestHook => ({
      name,
      ...more,
      onEpochEnd: () => void ran.push(name),
    });
    const { at, manager } = testHost().register(
      hook("checkpoint", { wants: [scores], schedule: every({ epochs: 1 }) }),
      hook("metrics", { wants: [scores] }),
      hook("evaluation", { provides: [scores], schedule: every({ epochs: 1 }) }),
    );
    at("onEpochEnd", { epochs: 1 });
    expect(ran).toEqual(manager.plan().order);
  });
});

interface Node {
  readonly name: string;
  readonly priority: number;
  /** Earlier nodes it comes after, and how it says so. */
  readonly edges: readonly { readonly to: number; readonly by: "after" | "before" | "needs" | "wants" }[];
}

/** Random graphs without cycles: each node points at nodes before it. Registered in a random order. */
const graphs: fc.Arbitrary<{ readonly nodes: readonly Node[]; readonly shuffled: readonly number[] }> = fc
  .integer({ min: 1, max: 12 })
  .chain((size) =>
    fc.record({
      nodes: fc.tuple(
        ...Array.from({ length: size }, (_, i) =>
          fc.record({
            name: fc.constant(`hook ${"abcdefghijkl"[i]}`),
            priority: fc.integer({ min: -2, max: 2 }),
            edges:
              i === 0
                ? fc.constant([])
                : fc.array(
                    fc.record({
                      to: fc.nat(i - 1),
                      by: fc.constantFrom(
                        "after" as const,
                        "before" as const,
                        "needs" as const,
                        "wants" as const,
                      ),
                    }),
                    { maxLength: 3 },
                  ),
          }),
        ),
      ),
      shuffled: fc.shuffledSubarray(
        Array.from({ length: size }, (_, i) => i),
        { minLength: size, maxLength: size },
      ),
    }),
  );

/** The graph as hooks: each provides a slot of its own name. */
function hooksOf(nodes: readonly Node[]): readonly TestHook[] {
  const named = (to: number): string => nodes[to]?.name as string;
  const own = (to: number) => slot(`slot of ${named(to)}`);
  return nodes.map(({ name, priority, edges }, i) => {
    const pick = (by: string) => edges.filter((edge) => edge.by === by).map(({ to }) => to);
    const before = nodes.flatMap((other) =>
      other.edges.some((edge) => edge.by === "before" && edge.to === i) ? [other.name] : [],
    );
    return {
      name,
      priority,
      provides: [own(i)],
      needs: pick("needs").map(own),
      wants: pick("wants").map(own),
      after: pick("after").map(named),
      before,
      onEpochEnd,
    };
  });
}

describe("in any graph without cycles", () => {
  it("every relation holds, and of the free hooks the one of greatest priority, then registered first, comes next", () => {
    fc.assert(
      fc.property(graphs, ({ nodes, shuffled }) => {
        const all = hooksOf(nodes);
        const hooks = shuffled.map((i) => all[i] as TestHook);
        const { order } = testHost()
          .register(...hooks)
          .manager.plan();
        const waitsFor = new Map(
          nodes.map(({ name, edges }) => [name, new Set(edges.map(({ to }) => nodes[to]?.name as string))]),
        );
        const left = [...hooks];
        for (const name of order) {
          const free = left.filter((hook) =>
            left.every((other) => !waitsFor.get(hook.name)?.has(other.name)),
          );
          const greatest = Math.max(...free.map(({ priority = 0 }) => priority));
          expect(name).toBe(free.find(({ priority = 0 }) => priority === greatest)?.name);
          left.splice(
            left.findIndex((hook) => hook.name === name),
            1,
          );
        }
        expect(left).toEqual([]);
      }),
    );
  });

  it("a relation that goes round is refused, and what is named is a circle", () => {
    const withCycle = graphs.filter(({ nodes }) => nodes.some(({ edges }) => edges.length > 0));
    fc.assert(
      fc.property(withCycle, fc.nat(), ({ nodes }, pick) => {
        const edges = nodes.flatMap(({ edges }, from) => edges.map(({ to }) => ({ from, to })));
        const { from, to } = edges[pick % edges.length] as { from: number; to: number };
        const hooks = hooksOf(nodes).map((hook, i) =>
          i === to ? { ...hook, after: [...(hook.after ?? []), nodes[from]?.name as string] } : hook,
        );
        const { manager } = testHost().register(...hooks);
        const error = failureOf(() => manager.check());
        expect(error.code).toBe("HOOK_CYCLE");
        const circle = error.message.replace(/.*each other: (.*?) \(.*/s, "$1").split(" -> ");
        expect(circle.length).toBeGreaterThan(1);
        expect(circle[0]).toBe(circle[circle.length - 1]);
        expect(new Set(circle).size).toBe(circle.length - 1);
      }),
    );
  });
});

describe("a cycle", () => {
  const evaluation: TestHook = { name: "evaluation", provides: [scores], needs: [files], onEpochEnd };
  const checkpoint: TestHook = { name: "checkpoint", provides: [files], needs: [scores], onEpochEnd };

  it("is explained with the reason of each relation and the way out", () => {
    const error = failureOf(() => testHost().register(evaluation, checkpoint).manager.check());
    expect(error.code).toBe("HOOK_CYCLE");
    expect(error.message).toContain("wait for each other: evaluation -> checkpoint -> evaluation");
    expect(error.message).toContain('evaluation needs "checkpoint.newest"');
    expect(error.message).toContain('checkpoint needs "evaluation.scores"');
    expect(error.fix).toContain("slots.previous");
  });

  it("is found at the first event where nobody checked", () => {
    const { at } = testHost().register(evaluation, checkpoint);
    expect(() => at("onEpochEnd")).toThrow("wait for each other");
  });

  it("is refused at once when the run has begun, and leaves the hooks as they were", () => {
    const { at, manager } = testHost().register({ ...evaluation, needs: [] });
    at("onEpochEnd");
    manager.register({ name: "after", after: ["evaluation"], onEpochEnd });
    const error = failureOf(() =>
      manager.register({ name: "before", after: ["after"], before: ["evaluation"], onEpochEnd }),
    );
    expect(error.code).toBe("HOOK_CYCLE");
    expect(manager.plan().order).toEqual(["evaluation", "after"]);
    manager.register({ name: "before", onEpochEnd });
  });

  it("may be of one hook", () => {
    const error = failureOf(() => orderOf({ name: "a", after: ["a"] }));
    expect(error.message).toContain("a -> a (a is after a)");
  });

  it("does not name hooks that only wait for it", () => {
    const error = failureOf(() =>
      orderOf({ name: "zoo", after: ["evaluation"] }, { name: "alone" }, evaluation, checkpoint),
    );
    expect(error.message).not.toContain("zoo");
    expect(error.message).not.toContain("alone");
  });

  it("is broken by reading what was there last time", () => {
    expect(orderOf({ ...evaluation, needs: [] }, checkpoint)).toEqual(["evaluation", "checkpoint"]);
  });
});

describe("a needed slot without a provider", () => {
  it("names the hook, the slot, what there is, and what to do", () => {
    const error = failureOf(() =>
      orderOf({ name: "checkpoint", needs: [scores] }, { name: "other", provides: [files] }),
    );
    expect(error.code).toBe("SLOT_NOT_PROVIDED");
    expect(error.message).toContain('hook "checkpoint" needs the slot "evaluation.scores"');
    expect(error.message).toContain("provided are checkpoint.newest");
    expect(error.fix).toContain("`wants`");
  });
});

describe("two providers", () => {
  it("are both named", () => {
    const error = failureOf(() =>
      orderOf({ name: "local", provides: [scores] }, { name: "remote", provides: [scores] }),
    );
    expect(error.code).toBe("SLOT_PROVIDED_TWICE");
    expect(error.message).toContain('"local" and "remote" both provide the slot "evaluation.scores"');
  });
});

describe("a name in after or before that is not registered", () => {
  it("is said once where it looks misspelt, and stops nothing", () => {
    const { manager, at, warnings } = testHost().register(
      { name: "evaluation", onEpochEnd },
      { name: "metrics", after: ["evalution"], before: ["something else"], onEpochEnd },
    );
    at("onEpochEnd");
    manager.register({ name: "another", onEpochEnd });
    at("onEpochEnd");
    expect(warnings).toEqual([
      'hook "metrics" is to run after "evalution", which is not registered; did you mean "evaluation"?',
    ]);
  });
});
