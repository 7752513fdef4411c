import { describe, expect, it } from "vitest";
import { completed, espalier, filed, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();

async function decided() {
  const store = await testStore();
  await filed(store, "a", [], { name: "mnist" });
  const never = { event: "onBatchEnd", ran: false, why: "every 100 updates is not due" };
  await store.add("a", "decision", [
    { hook: "checkpoint", ...never, fromStep: 1, toStep: 1999, times: 1999 },
    {
      hook: "checkpoint",
      event: "onBatchEnd",
      ran: true,
      why: "every 2000 updates is due",
      fromStep: 2000,
      toStep: 2000,
      times: 1,
    },
    {
      hook: "metrics",
      event: "onEpochEnd",
      ran: true,
      why: "it runs at every event",
      fromStep: 1,
      toStep: 9,
      times: 9,
    },
  ]);
}

const why = (...args: readonly string[]) => espalier(["why", ...args, "--store", path("stats.db")]);

describe("espalier why", () => {
  it("prints what was decided about a hook, and over which steps", async () => {
    await decided();
    const { code, text } = await why("mnist", "checkpoint");
    expect(code).toBe(0);
    expect(text).toMatch(/^1 to 1,999 +onBatchEnd +did not run +1,999 +every 100 updates is not due$/m);
    expect(text).toMatch(/^2,000 +onBatchEnd +ran +1 +every 2000 updates is due$/m);
    expect(text).not.toContain("onEpochEnd");
  });

  it("prints what was decided at a step", async () => {
    await decided();
    expect((await why("mnist", "checkpoint", "--at", "2000")).text).not.toContain("did not run");
    const { code, error } = await why("mnist", "checkpoint", "--at", "5000");
    expect(code).toBe(1);
    expect(error).toMatch(/at step 5000 \[DECISION_UNKNOWN\]\n.*between step 1 and step 2000/);
    expect((await why("mnist", "checkpoint", "--at", "soon")).error).toContain("OPTION_INVALID");
  });

  it("says what the decisions around a step tell of it", async () => {
    const store = await testStore();
    await filed(store, "a", []);
    const ran = { hook: "save", event: "onEpochEnd", ran: true, why: "every 5 epochs is due" };
    const asked = { hook: "save", event: "onBatchEnd", ran: false, why: "its shouldRun says no" };
    await store.add("a", "decision", [
      { ...ran, fromStep: 20, toStep: 120, times: 6 },
      { ...ran, why: "at 200 steps is due", fromStep: 200, toStep: 200, times: 1 },
      { ...ran, hook: "two", fromStep: 20, toStep: 120, times: 2 },
      { ...ran, hook: "odd", fromStep: 20, toStep: 120, times: 4 },
      { ...asked, hook: "choosy", fromStep: 1, toStep: 9, times: 4 },
    ]);
    const at = async (hook: string, step: number) => {
      const args = ["a", hook, "--at", String(step)];
      const [first] = (await why(...args)).text.split("\n");
      const [verdict] = JSON.parse((await why(...args, "--json")).text);
      return [first, verdict.ran, verdict.evenly];
    };
    const six = "it ran 6 times from step 20 to step 120 (every 5 epochs is due)";
    expect(await at("save", 42)).toEqual([
      `onEpochEnd at step 42: ${six}; if evenly, every 20 steps, not due here: it ran at step 40 and next at step 60`,
      ...[null, false],
    ]);
    expect(await at("save", 60)).toEqual([
      `onEpochEnd at step 60: ${six}; if evenly, every 20 steps, it ran here`,
      ...[null, true],
    ]);
    expect(await at("save", 120)).toEqual([
      "onEpochEnd at step 120: it ran: every 5 epochs is due",
      ...[true, undefined],
    ]);
    expect(await at("save", 150)).toEqual([
      "onEpochEnd at step 150: it did not run, for it was not due: it was asked last at step 120 and next at step 200",
      ...[false, undefined],
    ]);
    expect(await at("two", 42)).toEqual([
      "onEpochEnd at step 42: it did not run, for it was not due: it ran at step 20 and at step 120 (every 5 epochs is due)",
      ...[false, undefined],
    ]);
    expect((await at("odd", 42)).slice(1)).toEqual([null, undefined]);
    expect(await at("choosy", 5)).toEqual([
      "onBatchEnd at step 5: it did not run: its shouldRun says no",
      ...[false, undefined],
    ]);
  });

  it("says of a hook that nothing was decided about that it runs at every event", async () => {
    const store = await testStore();
    await filed(store, "a", []);
    const timing = { mean: 1, p99: 1, max: 1, total: 7 };
    await store.setHookTimings("a", [
      { hook: "mine", count: 7, ...timing },
      { hook: "rare", count: 0, ...timing },
    ]);
    // A run that goes on has not filed all it decided.
    expect((await why("a", "mine")).text).toMatch(
      /^mine: it was called 7 times, and no decision was filed yet/,
    );
    await store.endRun("a", completed);
    expect((await why("a", "mine", "--at", "3")).text).toMatch(
      /7 times.*no schedule and no shouldRun, and runs at every event/,
    );
    expect((await why("a", "rare")).text).toMatch(/0 times.*never due/);
    expect(JSON.parse((await why("a", "mine", "--json")).text)).toMatchObject([{ hook: "mine", calls: 7 }]);
    expect((await why("a", "mien")).error).toContain('did you mean "mine"?');
  });

  it("gives JSON", async () => {
    await decided();
    expect(JSON.parse((await why("mnist", "metrics", "--json")).text)).toMatchObject([
      { ran: true, times: 9 },
    ]);
  });

  it("says which hooks there are decisions about", async () => {
    await decided();
    expect((await why("mnist", "chekpoint")).error).toMatch(
      /about a hook "chekpoint"; did you mean "checkpoint"\? \[DECISION_UNKNOWN\]\n.*checkpoint, metrics/,
    );
    await filed(await testStore(), "b", []);
    const { error } = await why("b", "x");
    expect(error).toContain("it filed none");
  });
});
