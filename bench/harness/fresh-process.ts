import { fork } from "node:child_process";
import { EspalierError } from "../../src/core/index.ts";

/**
 * Runs a module in a fresh process with nothing compiled and nothing allocated yet, and gives what it sends back by
 * `process.send`.
 */
export function inFreshProcess<T>(
  module: URL,
  args: readonly string[],
  nodeFlags: readonly string[] = [],
): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = fork(module, args, { execArgv: [...process.execArgv, ...nodeFlags] });
    let answer: { readonly value: T } | undefined;
    child.on("message", (value) => {
      answer = { value: value as T };
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (answer) resolve(answer.value);
      else
        reject(
          new EspalierError(
            "BENCH_CHILD_FAILED",
            `${module.pathname.split("/").at(-1)} ended with code ${code}`,
          ),
        );
    });
  });
}
