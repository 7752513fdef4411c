import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "vite";
import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { root } from "./compiler-options.ts";

const doors = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
const packages = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });

/** Bundles a program as an application would, with all that is not used left out, runs it and gives its output. */
async function runBundled(program: string): Promise<string> {
  // Inside the checkout, so that the bundle finds the packages that it leaves outside.
  const folder = await mkdtemp(join(root, "node_modules", ".doors-"));
  try {
    await build({
      root,
      configFile: false,
      logLevel: "error",
      resolve: { tsconfigPaths: true },
      ssr: { noExternal: ["espalier"], external: packages },
      build: {
        ssr: program,
        outDir: folder,
        target: "node20",
        rolldownOptions: {
          external: [/^node:/, ...builtinModules],
          output: { entryFileNames: "program.mjs", codeSplitting: false },
        },
      },
    });
    const env = { ...process.env, ESPALIER_ENGINE: "wasm" };
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "program.mjs")], { env });
    return stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("a bundled application that knows one door", () => {
  it.each(doors)("trains through %s", async (door) => {
    const name = door.replace(/^\.\/?/, "") || "espalier";
    expect(await runBundled(`scripts/doors/${name}.ts`)).toMatch(/^espalier/);
  });
});

describe("a bundled application without the package beside it", () => {
  it("saves on the main thread, and says what threads of environments lack", async () => {
    expect(await runBundled("scripts/installed/threads.ts")).toBe(
      "espalier: checkpoints by 0 threads; THREAD_MISSING\n",
    );
  });
});
