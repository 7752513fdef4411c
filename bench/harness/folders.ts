import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EspalierError } from "../../src/core/index.ts";

/** The repository: the nearest folder above this file, or above the bundle it went into, that has the bench's peers. */
function repository(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    if (existsSync(join(at, "bench/peers"))) return at;
    if (at === dirname(at))
      throw new EspalierError("BENCH_FOLDER_MISSING", "no folder above the bench has bench/peers", {
        fix: "run the bench, or its bundle, inside the repository",
      });
  }
}

export const peersFolder = (): string => join(repository(), "bench/peers");
export const benchmarksPage = (): string => join(repository(), "docs/benchmarks.md");
export const chartFile = (): string => join(repository(), "docs/images/benchmarks.svg");

/** Where what peers need is installed. */
export const benchCache = (): string =>
  process.env.ESPALIER_BENCH_CACHE || join(repository(), ".cache/bench");
