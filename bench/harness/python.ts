import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EspalierError } from "../../src/core/index.ts";
import { benchCache } from "./folders.ts";

/**
 * A Python that has these packages: the one ESPALIER_BENCH_PYTHON names, as it is, or an environment of its own in
 * the bench's cache folder, made with the user's pip on first use.
 */
export async function pythonWith(name: string, packages: readonly string[], note: string): Promise<string> {
  const given = process.env.ESPALIER_BENCH_PYTHON;
  if (given) return given;
  const folder = join(benchCache(), name);
  const python = join(folder, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const record = join(folder, "installed.txt");
  const wanted = packages.join("\n");
  if (existsSync(record) && readFileSync(record, "utf8") === wanted) return python;
  console.error(`bench: installing ${packages.join(", ")} into ${folder}, once (${note})`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await command(process.env.ESPALIER_PYTHON || "python3", ["-m", "venv", folder]);
  await command(python, ["-m", "pip", "install", "--disable-pip-version-check", ...packages]);
  // Written last: an installation that was broken off counts as none.
  writeFileSync(record, wanted);
  return python;
}

/** Runs a command, showing what it writes on our standard error. */
function command(file: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (how: string): void =>
      reject(
        new EspalierError("PEER_INSTALL_FAILED", `${file} ${args.slice(0, 3).join(" ")} ${how}`, {
          fix: "it needs Python 3.11 or newer with venv and pip, and the network; or name a Python that has the packages in ESPALIER_BENCH_PYTHON",
        }),
      );
    // What lies there would count as installed, and be missed wherever the variable is not set.
    const { PYTHONPATH: _, ...env } = process.env;
    const child = spawn(file, args, { env, stdio: ["ignore", 2, 2] });
    child.on("error", (cause) => failed(`could not be started: ${cause.message}`));
    child.on("close", (code) => (code === 0 ? resolve() : failed(`ended with code ${code}`)));
  });
}
