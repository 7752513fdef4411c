import { describe, expect, it } from "vitest";
import { espalier, filed, testStores } from "./runs.test-support.ts";

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
