import { describe, expect, it } from "vitest";
import { every } from "../schedule/index.ts";
import type { HookObserver } from "./hook.ts";
import { type TestHook, testHost } from "./hooks.test-support.ts";
import { slot } from "./slots.ts";

const scores = slot<number>("scores");

/** A host with a hook that observes, and what it heard. */
function observing(hooks: readonly TestHook[], what: readonly (keyof HookObserver)[], rank = 0) {
  const heard: string[] = [];
  const all: Required<HookObserver> = {
    decided: ({ hook, event, ran, why, counters }) =>
      void heard.push(`${counters.batches} ${event}: ${hook} ${ran ? "runs" : "does not"}, ${why}`),
    provided: ({ name }, value) => void heard.push(`${name} is ${String(value)}`),
    switched: (hook, enabled) => void heard.push(`${hook} is ${enabled ? "on" : "off"}`),
  };
  const observer: TestHook = {
    name: "observer",
    onRegister: (host) => host.observe(Object.fromEntries(what.map((name) => [name, all[name]]))),
    onStart: () => undefined,
  };
  const host = testHost({ rank }).register(observer, ...hooks);
  return { heard, host };
}

describe("whoever observes hooks", () => {
  it("hears what was decided about those that are asked, and why", () => {
    const runs: number[] = [];
    const note: TestHook["onBatchEnd"] = ({ counters }) => void runs.push(counters.batches);
    const { heard, host } = observing(
      [
        { name: "always", onBatchEnd: () => undefined },
        { name: "seldom", schedule: every({ batches: 3 }), onBatchEnd: note },
        {
          name: "choosy",
          shouldRun: ({ counters }) => counters.batches % 2 === 0,
          onBatchEnd: () => undefined,
        },
        {
          name: "all",
          ranks: "all",
          shouldRun: () => true,
          schedule: every({ batches: 3 }),
          onBatchEnd: note,
        },
      ],
      ["decided"],
    );
    for (let batches = 1; batches <= 4; batches++) host.at("onBatchEnd", { batches });
    expect(heard).toEqual([
      "1 onBatchEnd: choosy does not, its shouldRun says no",
      "2 onBatchEnd: choosy runs, its shouldRun says yes",
      "3 onBatchEnd: seldom runs, every 3 batches is due",
      "3 onBatchEnd: choosy does not, its shouldRun says no",
      "3 onBatchEnd: all runs, every 3 batches is due",
      "4 onBatchEnd: choosy runs, its shouldRun says yes",
    ]);
    expect(runs).toEqual([3, 3]);
  });

  it("hears of hooks that other ranks leave out", () => {
    const hook: TestHook = { name: "main", shouldRun: () => true, onBatchEnd: () => undefined };
    const { heard, host } = observing([hook], ["decided"], 1);
    host.at("onBatchEnd", { batches: 1 });
    expect(heard).toEqual(["1 onBatchEnd: main does not, it runs on the main rank alone"]);
  });

  it("hears what hooks provide, and not what is restored", () => {
    const giving: TestHook = {
      name: "giving",
      provides: [scores],
      onBatchEnd: ({ slots, counters }) => slots.set(scores, counters.batches),
    };
    const { heard, host } = observing([giving], ["provided"]);
    host.at("onBatchEnd", { batches: 1 });
    const state = host.manager.slots.getState();
    host.manager.slots.setState(state);
    host.at("onBatchEnd", { batches: 2 });
    expect(heard).toEqual(["scores is 1", "scores is 2"]);
  });

  it("hears of hooks that are disabled and enabled, once each", () => {
    const broken: TestHook = {
      name: "broken",
      onFailure: "disable",
      onBatchEnd: () => {
        throw new Error("no luck");
      },
    };
    const { heard, host } = observing([broken], ["switched"]);
    host.at("onBatchEnd", { batches: 1 });
    host.manager.enable("broken");
    host.manager.enable("broken");
    host.manager.disable("broken");
    expect(heard).toEqual(["broken is off", "broken is on", "broken is off"]);
  });

  it("changes nothing of what runs, and asks nobody twice", () => {
    let asked = 0;
    const hook: TestHook = {
      name: "choosy",
      shouldRun: () => {
        asked++;
        return true;
      },
      onBatchEnd: () => undefined,
    };
    const { host } = observing([hook], ["decided"]);
    host.at("onBatchEnd", { batches: 1 });
    expect(asked).toBe(1);
  });
});
