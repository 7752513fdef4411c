import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const script = fileURLToPath(new URL("./watchdog.test-support.ts", import.meta.url));

/** A run in another process: how it ended, what it said, and what the watchdog wrote. */
async function run(...args: readonly [mode: string, onExceeded?: string]) {
  const [mode, onExceeded = "exit"] = args;
  const directory = mkdtempSync(join(tmpdir(), "espalier-watchdog-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "reports", "watchdog.txt");
  const child = spawn(process.execPath, ["--import", "tsx", script, mode, file, onExceeded], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text) => {
    out += text;
  });
  child.stderr.on("data", (text) => {
    err += text;
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on("close", (code, signal) => resolve([code, signal])),
  );
  return { code, signal, out, err, report: existsSync(file) ? readFileSync(file, "utf8") : undefined };
}

describe("a run that hangs", () => {
  it("in an endless loop: is reported with its stack and ended with code 124", async () => {
    const { code, out, err, report } = await run("loop");
    expect(report).toMatch(/^espalier watchdog: hooks of onEpochEnd have taken \d+\.\d s, more than 0.3 s$/m);
    expect(report).toMatch(/run hanging, process \d+, epoch 1, 10 updates; last event: onEpochEnd/);
    expect(report).toMatch(
      /runs JavaScript:\n {4}at spinForEver \(.*watchdog\.test-support\.ts:\d+:\d+\)\n(.*\n)*? {4}at .*hangingHook \(/,
    );
    expect(report).toMatch(/the process is ended: code 124, .*\n$/);
    expect(err).toContain(report);
    expect(code).toBe(124);
    // Through process.exit: what must be put in order at an exit is.
    expect(out).toBe("exit handler\n");
  });

  it("in Atomics.wait: the same", async () => {
    const { code, report } = await run("atomics");
    expect(report).toMatch(/runs JavaScript:\n(.*\n)*? {4}at .*hangingHook \(/);
    expect(code).toBe(124);
  });

  it("in native code: says that no JavaScript runs, and is killed", async () => {
    const { code, signal, out, report } = await run("native");
    expect(report).toMatch(/no JavaScript runs: the main thread is in native code/);
    expect(report).toMatch(/hooks of onEpochEnd have/);
    expect([code, signal]).toEqual([null, "SIGKILL"]); // 137 to a shell
    expect(out).toBe("");
  });

  it("in a promise that nobody resolves: says what it waits for, and is ended with code 124", async () => {
    const { code, out, report } = await run("promise");
    expect(report).toMatch(/no JavaScript runs: the main thread waits \(.*Timeout.*\)/);
    expect(code).toBe(124);
    expect(out).toBe("exit handler\n");
  });

  it("in its exit handlers too: is ended with code 124", async () => {
    const { code } = await run("exitHandler");
    expect(code).toBe(124);
  });
});

describe("a run that is only late", () => {
  it("is reported once and goes on to its end", async () => {
    const { code, out, err, report } = await run("reported", "report");
    expect(report).toMatch(/at waitForReport \(/);
    expect(report?.match(/espalier watchdog/g)).toHaveLength(1);
    expect(err).toContain(report);
    expect(out).toBe("completed\nexit handler\n");
    expect(code).toBe(0);
  });

  it("has a function told when it is free again", async () => {
    const { code, out } = await run("reported", "function");
    expect(out).toContain("told: javascript hook onEpochEnd\n");
    expect(out).toContain("completed\n");
    expect(code).toBe(0);
  });
});

describe("a run that does not hang", () => {
  it("hears nothing of it, and ends by itself", async () => {
    const { code, out, err, report } = await run("none");
    expect({ code, out, err, report }).toEqual({
      ...{ code: 0, out: "completed\nexit handler\n", err: "", report: undefined },
    });
  });
});
