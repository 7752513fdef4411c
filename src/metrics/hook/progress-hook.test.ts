import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { every } from "../../schedule/index.ts";
import { hashState } from "../../state/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { Logger } from "../logger/logger.ts";
import { observed, smallTask } from "./hook.test-support.ts";
import { metricsHook } from "./metrics-hook.ts";
import { progressHook, withProgress } from "./progress-hook.ts";

/** A place to write to, a terminal or not. */
function written(isTTY: boolean) {
  const texts: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      texts.push(String(chunk));
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY, columns: 80 }), text: () => texts.join("") };
}

async function run(hooks: readonly TrainerHook[]) {
  const trainer = new Trainer({ task: smallTask(), config: { epochs: 3 }, hooks });
  await trainer.train();
  return trainer;
}

const metrics = () => metricsHook({ logger: new Logger({ sinks: [] }) });

describe("progressHook", () => {
  it("shows what the run reports, as lines where there is no terminal", async () => {
    const { stream, text } = written(false);
    await run([progressHook({ stream, schedule: every({ epochs: 1 }) })]);
    const lines = text()
      .split("\n")
      .filter((line) => line.includes("train/loss"));
    expect(lines).toHaveLength(3);
    expect(text()).not.toContain("\x1b");
  });

  it("shows a bar on a terminal", async () => {
    const { stream, text } = written(true);
    await run([progressHook({ stream, env: {} })]);
    expect(text()).toMatch(/100\s?%/);
  });

  it("changes no bit and is no part of what is saved", async () => {
    const { stream } = written(true);
    const [plain, shown] = [await run([]), await run([progressHook({ stream })])];
    expect(Object.keys(shown.components)).toEqual(Object.keys(plain.components));
    const params = (trainer: Trainer) => trainer.components.params?.getState();
    expect(await hashState((await params(shown)) ?? null)).toBe(
      await hashState((await params(plain)) ?? null),
    );
  });

  it("goes beside a hook that logs metrics, where both are asked for", async () => {
    const { stream, text } = written(false);
    const { keep, trainer } = observed(
      {},
      { hooks: [progressHook({ stream, schedule: every({ epochs: 1 }) })] },
    );
    await trainer.train();
    expect(keep.of("train/loss").length).toBeGreaterThan(0);
    expect(text()).toContain("train/loss");
  });
});

describe("withProgress", () => {
  const names = (...given: Parameters<typeof withProgress>) => withProgress(...given).map(({ name }) => name);
  const [terminal, file] = [written(true).stream, written(false).stream];

  it("shows it on a terminal, where nobody else does and nobody says otherwise", () => {
    expect(names([], undefined, terminal)).toEqual(["progress"]);
    expect(names([], undefined, file)).toEqual([]);
    expect(names([metrics()], undefined, terminal)).toEqual(["metrics"]);
    expect(names([{ name: "all", children: [metrics()] }], undefined, terminal)).toEqual(["all"]);
    expect(names([], false, terminal)).toEqual([]);
    expect(names([metrics()], true, file)).toEqual(["metrics", "progress"]);
  });
});
