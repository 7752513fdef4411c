import { spawn } from "node:child_process";

/** Something that must hold. `run` throws what is to be shown where it does not. */
export interface Check {
  readonly name: string;
  run(): Promise<void>;
}

/** Where and how a command is run. */
export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Seconds after which it is ended. Default: 900. */
  readonly timeout?: number;
}

/**
 * Runs checks, some at a time and in their order, and writes a line with its seconds for each as it ends; what a failed
 * one threw follows it. The last line counts them.
 */
export async function runChecks(
  checks: readonly Check[],
  { atOnce, write }: { readonly atOnce: number; readonly write: (line: string) => void },
): Promise<{ readonly passed: number; readonly failed: number }> {
  const left = [...checks];
  const failures: string[] = [];
  const worker = async (): Promise<void> => {
    for (let check = left.shift(); check; check = left.shift()) {
      const start = performance.now();
      const line = (outcome: string) => `${outcome} ${seconds(start)} ${check?.name}`;
      try {
        await check.run();
        write(line("ok    "));
      } catch (error) {
        failures.push(check.name);
        write(`${line("FAILED")}\n${indented(error instanceof Error ? error.message : String(error))}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  for (const name of failures) write(`failed: ${name}`);
  const failed = failures.length;
  write(`${checks.length - failed} passed, ${failed} failed`);
  return { passed: checks.length - failed, failed };
}

/** Runs a command and gives what it wrote to stdout. Throws with the command and all it wrote where it fails. */
export function output(command: readonly string[], options: CommandOptions): Promise<string> {
  const { cwd, env, timeout = 900 } = options;
  const [file = "", ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd,
      env: { ...withoutNpm(process.env), NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeout * 1000,
    });
    let [stdout, all] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      all += text;
    });
    const fail = (how: string): void => {
      const set = Object.entries(env ?? {}).map(([name, value]) => `${name}=${value} `);
      reject(new Error(`$ cd ${cwd}\n$ ${set.join("")}${command.join(" ")}\n${all.trimEnd()}\n${how}`));
    };
    child.on("error", (error) => fail(error.message));
    child.on("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else fail(signal ? `ended by ${signal}, after at most ${timeout} s` : `exit code ${code}`);
    });
  });
}

/** Without what `npm run` tells its scripts: an npm that runs elsewhere would take it for its own settings. */
const withoutNpm = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^npm_/i.test(name) || /^npm_config_(registry|cache|userconfig)$/i.test(name),
    ),
  );

/** What `make` gives, made when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export const seconds = (since: number): string =>
  `${((performance.now() - since) / 1000).toFixed(1).padStart(6)} s `;

const indented = (text: string): string => text.replaceAll(/^/gm, "    ");
