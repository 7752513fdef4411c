import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("./signals.test-support.ts", import.meta.url));

/** Runs the script and sends a signal each time it says what `answers` names. */
async function interrupted(
  answers: Readonly<Record<string, NodeJS.Signals>>,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const signal = answers[line];
    if (signal) child.kill(signal);
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, lines };
}

describe("a signal", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s finishes the batch, runs the end events and exits with %i", async (signal, code) => {
    expect(await interrupted({ training: signal })).toEqual({
      code,
      lines: [
        "handlers while training: 1",
        "training",
        `end: interrupted, interrupted by ${signal}`,
        "cleaned up: closed",
        "handlers after: 0",
        "result: interrupted, whole batches: true",
      ],
    });
  });

  it("that is the second ends the process at once", async () => {
    const ending = "end: interrupted, interrupted by SIGINT";
    expect(await interrupted({ training: "SIGINT", [ending]: "SIGINT" }, "hang")).toEqual({
      code: 130,
      lines: ["handlers while training: 1", "training", ending],
    });
    const answers = { training: "SIGINT", [ending]: "SIGTERM" } as const;
    expect((await interrupted(answers, "hang")).code).toBe(143);
  });

  it("SIGHUP exits with 129, and a second one, as from the shell of a terminal that closes, is passed over", async () => {
    const ending = "end: interrupted, interrupted by SIGHUP";
    expect(await interrupted({ training: "SIGHUP", [ending]: "SIGHUP" }, "hang")).toEqual({
      code: 129,
      lines: [
        "handlers while training: 1",
        "training",
        ending,
        "cleaned up: closed",
        "handlers after: 0",
        "result: interrupted, whole batches: true",
      ],
    });
  });

  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  const terminals = process.platform !== "win32" && spawnSync(python, ["-c", "import pty"]).status === 0;
  it.runIf(terminals)(
    "SIGHUP from a terminal that closes while the run writes to it lets the run end in good order",
    () => {
      const folder = mkdtempSync(join(tmpdir(), "espalier-signals-"));
      const log = join(folder, "log");
      // A terminal that closes once the run trains.
      const terminal = `import os, pty, sys
pid, screen = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while b"training" not in seen: seen += os.read(screen, 4096)
os.close(screen)
os.waitpid(pid, 0)`;
      spawnSync(python, ["-c", terminal, process.execPath, "--import", "tsx", script, "talk"], {
        env: { ...process.env, SIGNALS_LOG: log },
      });
      expect(readFileSync(log, "utf8").trim().split("\n").slice(-4)).toEqual([
        "end: interrupted, interrupted by SIGHUP",
        "cleaned up: closed",
        "handlers after: 0",
        "result: interrupted, whole batches: true",
      ]);
      rmSync(folder, { recursive: true });
    },
  );
});
