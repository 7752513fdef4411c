import { describe, expect, it } from "vitest";
import type { StateTree } from "../state/index.ts";
import { failureOf, type TestHook, testHost } from "./hooks.test-support.ts";
import { SlotBoard, slot } from "./slots.ts";

const scores = slot<number>("evaluation.scores");
const notes = slot<string>("notes", { saved: false });

describe("a slot", () => {
  it("carries what one hook sets to those that read it in the same event", () => {
    const seen: unknown[] = [];
    const { at } = testHost().register(
      { name: "reader", wants: [scores], onEpochEnd: ({ slots }) => void seen.push(slots.get(scores)) },
      {
        name: "evaluation",
        provides: [scores],
        onEpochEnd: ({ slots, counters }) => slots.set(scores, counters.epochs * 10),
      },
    );
    at("onEpochEnd", { epochs: 1 });
    at("onEpochEnd", { epochs: 2 });
    expect(seen).toEqual([10, 20]);
  });

  it("is undefined until somebody sets it, and stays until it is set again", () => {
    const seen: unknown[] = [];
    const { at } = testHost().register(
      { name: "reader", wants: [scores], onBatchEnd: ({ slots }) => void seen.push(slots.get(scores)) },
      { name: "evaluation", provides: [scores], onEpochEnd: ({ slots }) => slots.set(scores, 1) },
    );
    at("onBatchEnd");
    at("onEpochEnd");
    at("onBatchEnd");
    at("onBatchEnd");
    expect(seen).toEqual([undefined, 1, 1]);
  });

  it("can be read as it was before the event began, by anyone, in any order", () => {
    const seen: unknown[] = [];
    const look = (name: string, more: Partial<TestHook>): TestHook => ({
      name,
      ...more,
      onEpochEnd: ({ slots }) => void seen.push([name, slots.previous(scores)]),
    });
    const { at } = testHost().register(
      look("before", { before: ["evaluation"] }),
      {
        name: "evaluation",
        provides: [scores],
        onEpochEnd: ({ slots, counters }) => {
          slots.set(scores, counters.epochs);
          slots.set(scores, counters.epochs * 10);
        },
      },
      look("after", { after: ["evaluation"] }),
    );
    at("onEpochEnd", { epochs: 1 });
    at("onEpochEnd", { epochs: 2 });
    expect(seen).toEqual([
      ["before", undefined],
      ["after", undefined],
      ["before", 10],
      ["after", 10],
    ]);
  });

  it("that is shared may be provided by several hooks, and is the newest of theirs", () => {
    const shared = slot<string>("shared", { shared: true });
    const seen: unknown[] = [];
    const provider = (name: string): TestHook => ({
      name,
      provides: [shared],
      onEpochEnd: ({ slots }) => slots.set(shared, name),
    });
    const { at, manager } = testHost().register(
      { name: "reader", needs: [shared], onEpochEnd: ({ slots }) => void seen.push(slots.get(shared)) },
      provider("first"),
      provider("second"),
    );
    at("onEpochEnd");
    expect(manager.plan().order).toEqual(["first", "second", "reader"]);
    expect(seen).toEqual(["second"]);
  });

  it("may be read and set again by its provider", () => {
    const { at } = testHost().register({
      name: "best",
      provides: [scores],
      onEpochEnd: ({ slots, counters }) => {
        slots.set(scores, Math.max(slots.get(scores) ?? 0, counters.epochs % 3));
        return { best: slots.get(scores) };
      },
    });
    expect([1, 2, 3].map((epochs) => at("onEpochEnd", { epochs }))).toEqual([
      { best: 1 },
      { best: 2 },
      { best: 2 },
    ]);
  });
});

describe("a slot that was not declared", () => {
  it("cannot be read", () => {
    const { at } = testHost().register({ name: "a", onEpochEnd: ({ slots }) => void slots.get(scores) });
    const error = failureOf(() => at("onEpochEnd")).cause as { readonly code: string; readonly fix: string };
    expect(error).toMatchObject({ code: "SLOT_UNDECLARED", fix: expect.stringContaining("`wants`") });
    expect(() => at("onEpochEnd")).toThrow(
      'hook "a" reads the slot "evaluation.scores", which it does not declare',
    );
  });

  it.each(["needs", "wants"] as const)("to be provided cannot be set, though it is in %s", (field) => {
    const { at } = testHost().register(
      { name: "evaluation", provides: [scores], onEpochEnd: () => {} },
      { name: "a", [field]: [scores], onEpochEnd: ({ slots }) => slots.set(scores, 1) },
    );
    expect(() => at("onEpochEnd")).toThrow(
      'hook "a" sets the slot "evaluation.scores", which it does not declare',
    );
  });
});

describe("the state of the board", () => {
  it("is the newest value of every saved slot, sorted by name", () => {
    const board = new SlotBoard();
    board.set(slot<number>("z"), 1);
    board.set(slot<number>("a"), 1);
    board.set(slot<number>("a"), 2);
    board.set(notes, "not saved");
    board.set(slot<undefined>("empty"), undefined);
    expect(board.getState()).toEqual({ a: 2, z: 1 });
    expect(Object.keys(board.getState() as object)).toEqual(["a", "z"]);
  });

  it("does not look into values to sort them", () => {
    const board = new SlotBoard();
    const bare = Object.assign(Object.create(null) as object, { best: 1 });
    board.set(slot<object>("b"), bare);
    board.set(slot<object>("a"), bare);
    expect(Object.keys(board.getState() as object)).toEqual(["a", "b"]);
  });

  it("goes round: values are there after a resume, as what was before", () => {
    const first = testHost();
    first.manager.slots.set(scores, 7);
    const state = first.manager.slots.getState();
    const seen: unknown[] = [];
    const second = testHost().register({
      name: "evaluation",
      provides: [scores],
      onEpochEnd: ({ slots }) => {
        seen.push(slots.get(scores), slots.previous(scores));
        slots.set(scores, 8);
        seen.push(slots.get(scores), slots.previous(scores));
      },
    });
    second.manager.slots.setState(state);
    expect(second.manager.slots.getState()).toEqual(state);
    second.at("onEpochEnd");
    expect(seen).toEqual([7, 7, 8, 7]);
    expect(second.manager.slots.getState()).toEqual({ "evaluation.scores": 8 } satisfies StateTree);
  });

  it("forgets what is not in it", () => {
    const board = new SlotBoard();
    board.set(scores, 1);
    board.setState({});
    expect(board.get(scores)).toBeUndefined();
  });

  it("leaves out what a slot says is not to be saved, after a resume too", () => {
    const timed = slot<{ readonly score: number; readonly seconds: number }>("timed", {
      save: ({ score }) => ({ score, seconds: 0 }),
    });
    const board = new SlotBoard();
    board.set(timed, { score: 1, seconds: 9 });
    expect(board.getState()).toEqual({ timed: { score: 1, seconds: 0 } });
    expect(board.get(timed)?.seconds).toBe(9);
    const resumed = new SlotBoard();
    resumed.setState(board.getState());
    resumed.set(timed, { score: 2, seconds: 4 });
    expect(resumed.getState()).toEqual({ timed: { score: 2, seconds: 0 } });
  });
});
