import { describe, expect, it } from "vitest";
import { EspalierError } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import type { Surroundings } from "../terminal.ts";
import { captured, completed, espalier, filed, NOW, record, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();
const tail = (args: readonly string[], more: Partial<Surroundings> = {}) =>
  espalier(["tail", ...args, "--store", path("stats.db")], { clock: { wall: () => NOW - 540_000 }, ...more });

/** What happens during each pause, one after the other. */
const during = (...events: readonly (() => unknown)[]): Pick<Surroundings, "pause"> => {
  const coming = [...events];
  return {
    pause: async () => {
      const next = coming.shift();
      if (!next) throw new Error("it looked once too often");
      await next();
    },
  };
};

describe("espalier tail", () => {
  it("prints what came lately, then what comes, and ends with the run", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 0.5), record("train/accuracy", 1, 0.25)]);
    const { code, text, errors } = await tail(
      ["a"],
      during(
        () => undefined,
        () => store.addMetrics("a", [record("train/loss", 2, Number.NaN), record("eval/score", 2, 7)]),
        async () => {
          await store.addMetrics("a", [record("train/loss", 3, 0.125)]);
          await store.endRun("a", completed);
        },
      ),
    );
    expect(code).toBe(0);
    expect(errors).toBe("");
    expect(text).toBe(
      [
        "11:50:00  train  updates 1  loss 0.5  accuracy 0.25",
        "11:50:00  train  updates 2  loss NaN",
        "11:50:00  eval  updates 2  score 7",
        "11:50:00  train  updates 3  loss 0.125",
        "the run has ended: completed, 3 epochs reached",
        "",
      ].join("\n"),
    );
  });

  it("prints lines of JSON", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 0.5)]);
    await store.endRun("a", completed);
    const { code, text } = await tail(["a", "--json"]);
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([code, lines]).toEqual([
      0,
      [
        expect.objectContaining({ category: "train", name: "loss", step: 1, value: 0.5 }),
        { outcome: "completed", reason: "3 epochs reached" },
      ],
    ]);
  });

  it("begins with ten lines of a long run, and loses none of what comes at once", async () => {
    const store = await testStore();
    await filed(
      store,
      "a",
      Array.from({ length: 3000 }, (_, i) => record("train/loss", i, i)),
    );
    const { text } = await tail(
      ["a"],
      during(async () => {
        await store.addMetrics(
          "a",
          Array.from({ length: 2500 }, (_, i) => record("train/loss", 3000 + i, i)),
        );
        await store.endRun("a", completed);
      }),
    );
    const steps = [...text.matchAll(/updates (\d+)/g)].map(([, step]) => Number(step));
    expect(steps).toEqual(Array.from({ length: 2510 }, (_, i) => 2990 + i));
  });

  it("prints the metrics that are asked for", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1), record("train/x", 1, 2)], { ending: completed });
    const { text } = await tail(["a", "--metric", "train/loss"]);
    expect(text).toMatch(/^\S+ {2}train {2}updates 1 {2}loss 1\nthe run has ended/);
  });

  it("refuses a metric that an ended run does not have, and waits for one that may come", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1)]);
    const { text, errors } = await tail(
      ["a", "--metric", "eval/score"],
      during(async () => {
        await store.addMetrics("a", [record("eval/score", 2, 7)]);
        await store.endRun("a", completed);
      }),
    );
    expect(errors).toMatch(/^not yet: the run has no metric "eval\/score"/);
    expect(text).toContain("score 7");
    expect((await tail(["a", "--metric", "train/nothing"])).error).toContain("METRIC_UNKNOWN");
  });

  it("says once that a run has gone silent, and again after it was heard of", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1, { wall: NOW - 300_000 })]);
    const beat = (wall: number) =>
      store.add("a", "heartbeat", [{ wall, step: 1, pid: 1, host: "here", phase: "train" }]);
    let now = NOW;
    const { errors } = await tail(["a"], {
      clock: { wall: () => now },
      ...during(
        () => undefined,
        () => beat(NOW),
        () => {
          now += 180_000;
        },
        () => store.endRun("a", completed),
      ),
    });
    expect(errors.match(/no sign of the run for \d+ min/g)).toEqual([
      "no sign of the run for 5 min",
      "no sign of the run for 3 min",
    ]);
  });

  it("waits for a store that goes away, and says so once", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1)]);
    let away = false;
    const openStore = async (): Promise<StatsStore> => ({
      ...store,
      close: async () => undefined,
      run: async (asked) => {
        if (away) throw new EspalierError("STATS_UNAVAILABLE", "it is restarted");
        return store.run(asked);
      },
    });
    const { text, errors, error } = await tail(["a"], {
      openStore,
      ...during(
        () => {
          away = true;
        },
        () => undefined,
        async () => {
          await store.addMetrics("a", [record("train/loss", 2, 2)]);
          await store.endRun("a", completed);
          away = false;
        },
      ),
    });
    expect(error).toBe("");
    expect(errors).toBe(`${store.location} cannot be reached; waiting until it can\n`);
    expect([...text.matchAll(/updates (\d)/g)].map(([, step]) => step)).toEqual(["1", "2"]);
  });

  it("ends quietly by Ctrl-C, and when nobody reads any more", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1)]);
    const interrupt = new AbortController();
    let stopped = 0;
    const first = await tail(["a"], {
      interrupts: () => ({ signal: interrupt.signal, stop: () => void stopped++ }),
      ...during(() => interrupt.abort()),
    });
    expect(first).toMatchObject({ code: 0, error: "", errors: "" });
    expect(stopped).toBe(1);
    const reader = new AbortController();
    const second = await tail(["a"], {
      out: captured({ gone: reader.signal }),
      ...during(() => reader.abort()),
    });
    expect(second).toMatchObject({ code: 0, error: "", errors: "" });
  });

  it("puts no more than eight values in a line, and obeys none of them", async () => {
    const store = await testStore();
    const values = Array.from({ length: 10 }, (_, i) => record(`train/m${i}`, 1, i));
    await filed(store, "a", [...values, record("train/note", 2, "a\u001b[2Jb\nc")], { ending: completed });
    const { text } = await tail(["a"]);
    expect(text).toMatch(/m0 0 .* m7 7 {2}and 2 more\n/);
    expect(text).toContain("note a\\x1b[2Jb\\nc\n");
  });

  it.each(["0", "-1", "soon", "1e9"])("refuses --interval %j", async (interval) => {
    const { error } = await tail(["a", `--interval=${interval}`]);
    expect(error).toMatch(/--interval is ".*" \[OPTION_INVALID\]\n +fix: /);
  });
});
