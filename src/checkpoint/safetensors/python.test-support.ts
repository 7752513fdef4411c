import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../../scripts/fixtures/safetensors_files.py", import.meta.url));

/** What the original library finds in a file. */
export interface Found {
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly tensors: Readonly<
    Record<string, { readonly dtype: string; readonly shape: readonly number[]; readonly hex: string }>
  >;
}

export interface Original {
  write(path: string): void;
  read(path: string): Found;
}

/**
 * The original library, where a Python has it: the one that ESPALIER_BENCH_PYTHON names, else `python3`. Where
 * ESPALIER_REQUIRE names `safetensors` its absence is an error, elsewhere the reason to skip.
 */
export function findOriginal(): Original | { readonly missing: string } {
  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  const run = (...args: string[]): string =>
    execFileSync(python, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  try {
    run("-c", "import numpy; from safetensors import TensorSpec");
  } catch {
    const missing = `${python} has no safetensors 0.8 with numpy`;
    if (process.env.ESPALIER_REQUIRE?.includes("safetensors"))
      throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
    return { missing };
  }
  return {
    write: (path) => void run(script, "write", path),
    read: (path) => JSON.parse(run(script, "read", path)) as Found,
  };
}
