import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A program of scripts/readers that stays, so that Python starts once: a line of arguments in, a line of JSON out. */
export class PythonReader {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #errors = "";

  constructor(python: string, script: string) {
    const path = fileURLToPath(new URL(`../../../scripts/readers/${script}`, import.meta.url));
    this.#process = spawn(python, [path]);
    this.#process.stderr.on("data", (text: Buffer) => {
      this.#errors += text.toString();
    });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async ask<T extends readonly unknown[]>(...args: readonly string[]): Promise<T> {
    this.#process.stdin.write(`${JSON.stringify(args)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the reader ended: ${this.#errors}`);
    const answer = JSON.parse(value) as T | { readonly error: string };
    if ("error" in answer) throw new Error(String(answer.error));
    return answer;
  }

  close(): void {
    this.#process.stdin.end();
  }
}

/**
 * A Python that has what `code` imports: the one that ESPALIER_BENCH_PYTHON names, else `python3`. Where
 * ESPALIER_REQUIRE names the part its absence is an error, elsewhere the reason to skip.
 */
export function pythonWith(
  part: string,
  code: string,
): { readonly python: string } | { readonly missing: string } {
  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  try {
    execFileSync(python, ["-c", code], { stdio: "ignore" });
    return { python };
  } catch {
    const missing = `${python} has no ${part}`;
    if (process.env.ESPALIER_REQUIRE?.includes(part))
      throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
    return { missing };
  }
}
