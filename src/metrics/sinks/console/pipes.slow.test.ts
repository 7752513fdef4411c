import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("./pipes.test-support.ts", import.meta.url));
const command = ["--import", "tsx", script];
const windows = 4000;
const lines = Array.from(
  { length: windows },
  (_, i) => `step ${i + 1}  train/loss ${i + 1}  train/accuracy 0.5`,
);
// More than a pipe holds, so that the reader must have been waited for.
const text = `${lines.join("\n")}\n`;
const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env;

const endings = [
  { how: "exit", code: 3, signal: null },
  { how: "throw", code: 1, signal: null },
  { how: "kill", code: null, signal: "SIGKILL" },
];

describe("what is piped", () => {
  it.each(endings)("is complete after $how", async ({ how, code, signal }) => {
    const child = spawn(process.execPath, [...command, how, String(windows)], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    let piped = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      piped += part;
    });
    const ended = await new Promise((resolve) => child.on("close", (...args) => resolve(args)));
    expect(ended).toEqual([code, signal]);
    expect(piped === text).toBe(true);
  });

  it.each(endings)("is complete in a file after $how", ({ how, code, signal }) => {
    const folder = mkdtempSync(join(tmpdir(), "console-"));
    try {
      const file = openSync(join(folder, "out"), "w");
      const child = spawnSync(process.execPath, [...command, how, "50"], {
        env,
        stdio: ["ignore", file, "ignore"],
      });
      closeSync(file);
      expect([child.status, child.signal]).toEqual([code, signal]);
      expect(readFileSync(join(folder, "out"), "utf8")).toBe(`${lines.slice(0, 50).join("\n")}\n`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("is complete after a kill also where the reader is slow to start", () => {
    // A pipe of the system's own, which is full before it is read: what child_process makes is a pair of sockets.
    const line = '"$0" "$@" 2>/dev/null | { sleep 1; wc -l; }';
    const child = spawnSync("sh", ["-c", line, process.execPath, ...command, "kill", String(windows)], {
      env,
      encoding: "utf8",
    });
    expect(child.stdout.trim()).toBe(String(windows));
  });

  it("to a reader that closes early does not stop training, and nothing is said", () => {
    // The shell's answer is that of the reader: the run's own code goes to standard error.
    const line = '{ "$0" "$@"; echo "code $?" >&2; } | head -1';
    const child = spawnSync("sh", ["-c", line, process.execPath, ...command, "end", "20000"], {
      env,
      encoding: "utf8",
    });
    expect(child.stdout).toBe(`${lines[0]}\n`);
    expect(child.stderr).toBe("trained 20000, listeners left: 0\ncode 0\n");
  });
});
