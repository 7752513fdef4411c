import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const url = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
const tsx = fileURLToPath(new URL("../../../../node_modules/tsx/dist/cli.mjs", import.meta.url));

/** Runs a program with a sink that never works. Gives what it said. */
function run(end: string): Promise<{ readonly code: number | null; readonly out: string }> {
  const program = `
    import { Delivery } from ${url("./delivery.ts")};
    import { systemClock } from ${url("../../../core/index.ts")};
    const sink = { name: "down", write: () => Promise.reject(new Error("down")) };
    const delivery = new Delivery(sink, { clock: systemClock, warn: () => {}, limits: { closing: 0.3 } });
    delivery.open({ id: "a", name: "a", startedAt: 0, config: {} });
    delivery.send([{ key: "train/loss", step: 1, axis: "steps", value: 1 }]);
    ${end}`;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [tsx, "--input-type=module", "-e", program],
      { timeout: 50_000 },
      (_, out) => resolve({ code: child.exitCode, out }),
    );
  });
}

describe("a process whose sink never works", () => {
  it("waits for close, and ends", async () => {
    const end = `await delivery.close({ outcome: "completed", counters: {} });
      process.stdout.write("lost " + delivery.summary().lost);`;
    expect(await run(end)).toEqual({ code: 0, out: "lost 1" });
  });

  it("is not kept alive by what waits", async () => {
    expect(await run('process.stdout.write("over");')).toEqual({ code: 0, out: "over" });
  });
});
