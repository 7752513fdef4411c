import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { Sweep } from "../config/index.ts";
import { configFile, folder } from "../config/sweep.test-support.ts";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command; `at` is told all that it has printed about its progress, and how to send it a signal. */
const sweep = (
  args: readonly string[],
  at?: (progress: string, kill: (signal: NodeJS.Signals) => void) => void,
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ["--import", "tsx", main, "sweep", ...args]);
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
      at?.(err, (signal) => child.kill(signal));
    });
    child.on("close", (code) => resolve({ code, out, err }));
  });

const choices = `
metric: validation/loss
method: grid
parameters: { task.learningRate: [0.001, 0.01, 0.1] }`;

describe("espalier sweep", { timeout: 300_000 }, () => {
  it.each(["SIGINT", "SIGKILL"] as const)(
    "goes on after %s without training again what is done",
    async (signal) => {
      const name = signal.toLowerCase();
      const file = configFile(name, choices);
      let isSent = false;
      const part = await sweep([file], (progress, kill) => {
        if (isSent || !progress.includes("trial 1: seed")) return;
        isSent = true;
        kill(signal);
      });
      expect(part.code).toBe(signal === "SIGINT" ? 130 : null);
      const [id = ""] = readdirSync(join(folder, name)).filter((entry) => entry.includes("sweep"));
      const trials = () =>
        (JSON.parse(readFileSync(join(folder, name, id, "trials.json"), "utf8")) as Sweep).trials;
      expect(trials().map(({ members }) => members[0]?.value !== undefined)).toEqual([true, false, false]);

      const whole = await sweep([file, "--resume", "--json"]);
      expect([whole.code, whole.err]).toEqual([0, expect.not.stringMatching(/trial 0: seed/)]);
      const result = JSON.parse(whole.out) as {
        readonly id: string;
        readonly best: { readonly number: number };
      };
      expect(result).toMatchObject({ id, best: { state: "complete" } });
      expect(trials().map(({ state }) => state)).toEqual(["complete", "complete", "complete"]);
      expect(readdirSync(join(folder, name, id)).filter((entry) => entry.includes("-t00"))).toHaveLength(3);
    },
  );

  it("takes a run that fails for the failure of one trial, and prints a table", async () => {
    const file = configFile("failing", choices.replace("[0.001, 0.01, 0.1]", "[0.001, 1.0e+30]"));
    const { code, out } = await sweep([file, "--parallel", "2"]);
    expect(code).toBe(0);
    expect(out).toMatch(/trial +task\.learningRate +validation\/loss +state/);
    expect(out).toMatch(/^0 .* complete .*\n1 .* failed /m);
  });

  it("says what is wrong before anything is trained", async () => {
    const file = configFile("wrong", "metric: validation/loss\nparameters: { task.nothing: [1] }");
    const { code, err } = await sweep([file]);
    expect([code, err]).toEqual([1, expect.stringMatching(/wrong\.yaml:18:\d+ {2}task\.nothing/)]);
    expect((await sweep([file, "--trials", "0"])).err).toMatch(/OPTION_INVALID/);
  });
});
