import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What scripts/fixtures/gymnasium_classics.py writes. */
export interface Fixture {
  readonly rows: number;
  readonly environments: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Steps of Gymnasium, a row each: all arrays flat. */
export interface Recorded {
  readonly rows: number;
  readonly state: Float64Array;
  readonly action: Float32Array;
  readonly elapsed: Int32Array;
  readonly next: Float64Array;
  readonly observation: Float32Array;
  readonly reward: Float64Array;
  /** Rewards of the same code over arrays, for which NumPy squares by multiplying: see the script. */
  readonly arrays: Float64Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
}

export function recorded({ rows, environments }: Fixture, name: string): Recorded {
  const buffer = (column: string): ArrayBuffer =>
    Uint8Array.from(Buffer.from(environments[name]?.[column] ?? "", "base64")).buffer;
  return {
    rows,
    state: new Float64Array(buffer("state")),
    action: new Float32Array(buffer("action")),
    elapsed: new Int32Array(buffer("elapsed")),
    next: new Float64Array(buffer("next")),
    observation: new Float32Array(buffer("observation")),
    reward: new Float64Array(buffer("reward")),
    arrays: new Float64Array(buffer("arrays")),
    terminated: new Uint8Array(buffer("terminated")),
    truncated: new Uint8Array(buffer("truncated")),
  };
}

/**
 * Runs a script of scripts/fixtures with Gymnasium, where a Python has it: the one that ESPALIER_BENCH_PYTHON names,
 * else `python3`. Where ESPALIER_REQUIRE names `gymnasium` its absence is an error, elsewhere the reason to skip.
 */
export function findGymnasium(): {
  readonly run?: (script: string, ...args: string[]) => unknown;
  readonly missing?: string;
} {
  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  const execute = (...args: string[]): string =>
    execFileSync(python, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  try {
    execute("-c", "import gymnasium");
  } catch {
    const missing = `${python} has no gymnasium`;
    if (process.env.ESPALIER_REQUIRE?.includes("gymnasium"))
      throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
    return { missing };
  }
  return {
    run(script, ...args) {
      const folder = mkdtempSync(join(tmpdir(), "espalier-gymnasium-"));
      try {
        const path = fileURLToPath(new URL(`../../../../scripts/fixtures/${script}`, import.meta.url));
        execute(path, join(folder, "out.json"), ...args);
        return JSON.parse(readFileSync(join(folder, "out.json"), "utf8"));
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}
