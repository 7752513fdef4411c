import { spawn } from "node:child_process";
import { EspalierError } from "../../core/index.ts";
import type { EvaluationJob } from "./queue.ts";

/** A process that evaluates a checkpoint. */
export interface EvaluatorProcess {
  readonly pid: number;
  /** Resolves when it has reported; rejects where it failed or was killed, with what it said. */
  readonly done: Promise<void>;
  /** Ends it. Resolves when it is gone. */
  stop(): Promise<void>;
}

/** How much of what it printed is kept for its error. */
const kept = 4000;

export function startEvaluator({
  program,
  env,
  job,
  store,
}: {
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly job: EvaluationJob;
  readonly store: string;
}): EvaluatorProcess {
  const [command = process.execPath, ...args] = program;
  const { checkpoint, suites, episodes, seed, deterministic, run } = job;
  const child = spawn(
    command,
    [
      ...args,
      ...["evaluate", checkpoint, "--suite", JSON.stringify(suites), "--episodes", String(episodes)],
      ...["--seed", String(seed), "--store", store, "--run", run],
      ...(deterministic ? [] : ["--sample"]),
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-kept);
  });
  const gone = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(signal ? `was killed by ${signal}` : `exit code ${code}`));
  });
  const done = gone.then((how) => {
    if (how === "exit code 0") return;
    const words = said.trim() === "" ? "" : `: ${said.trim()}`;
    throw new EspalierError("EVALUATOR_FAILED", `the evaluator process ${child.pid} ended (${how})${words}`);
  });
  // Whoever stops it does not wait for it.
  done.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    done,
    stop: async () => {
      child.kill("SIGTERM");
      await gone;
    },
  };
}
