import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { output, runChecks } from "./checks.ts";

const cwd = tmpdir();
const node = (program: string) => output([process.execPath, "--eval", program], { cwd, env: { HOW: "so" } });

describe("checks", () => {
  it("all run, and one that fails shows its command and its output", async () => {
    const lines: string[] = [];
    const ended = await runChecks(
      [
        { name: "one", run: async () => void (await node("process.exit(0)")) },
        { name: "two", run: async () => void (await node("console.log(process.env.HOW); process.exit(3)")) },
        { name: "three", run: async () => void (await node("console.log(3)")) },
      ],
      { atOnce: 2, write: (line) => lines.push(line) },
    );
    expect(ended).toEqual({ passed: 2, failed: 1 });
    const failed = lines.find((line) => line.startsWith("FAILED")) ?? "";
    expect(failed).toMatch(/^FAILED +[\d.]+ s +two\n/);
    expect(failed).toContain("HOW=so");
    expect(failed).toMatch(/^ +so\n +exit code 3$/m);
    expect(lines.filter((line) => line.startsWith("ok"))).toHaveLength(2);
    expect(lines.at(-1)).toBe("2 passed, 1 failed");
  });

  it("never run more at a time than they may", async () => {
    let [now, most] = [0, 0];
    const run = async (): Promise<void> => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      now--;
    };
    const checks = Array.from({ length: 6 }, (_, i) => ({ name: `${i}`, run }));
    await runChecks(checks, { atOnce: 2, write: () => undefined });
    expect(most).toBe(2);
  });

  it("do not hand on what npm tells its scripts", async () => {
    const before = process.env.npm_config_local_prefix;
    process.env.npm_config_local_prefix = "/elsewhere";
    try {
      expect(await node("console.log(process.env.npm_config_local_prefix)")).toBe("undefined\n");
    } finally {
      if (before === undefined) delete process.env.npm_config_local_prefix;
      else process.env.npm_config_local_prefix = before;
    }
  });
});
