import { builtinModules } from "node:module";
import { join } from "node:path";
import vm from "node:vm";
import { build, type Rolldown } from "vite";
import { describe, expect, it } from "vitest";
import { root } from "./compiler-options.ts";

const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));

/** A program of scripts/browser/ as one script for browsers, and the modules of Node that it would load. */
async function bundled(
  program: string,
): Promise<{ readonly code: string; readonly nodes: readonly string[] }> {
  const nodes: string[] = [];
  const output = (await build({
    root,
    configFile: false,
    logLevel: "error",
    resolve: { tsconfigPaths: true },
    plugins: [
      {
        name: "modules of Node",
        enforce: "pre",
        resolveId(id, importer) {
          if (!builtin.has(id)) return null;
          nodes.push(`${importer?.replace(`${root}/`, "")} imports ${id}`);
          return { id, external: true };
        },
      },
    ],
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry: join(root, "scripts/browser", program), formats: ["iife"], name: "program" },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput[];
  const [chunk] = output[0]?.output ?? [];
  if (!chunk) throw new Error("nothing was built");
  return { code: chunk.code, nodes };
}

/** A global of the web, and no `process`, `Buffer`, `require` or `setImmediate`. */
const web = () => ({
  ...{ AbortController, AbortSignal, TextDecoder, TextEncoder, URL },
  ...{
    clearInterval,
    clearTimeout,
    console,
    performance,
    queueMicrotask,
    setInterval,
    setTimeout,
    structuredClone,
  },
});

describe("in a browser", () => {
  it.each(["rooms.ts"])("%s loads no module of Node and runs", async (program) => {
    const { code, nodes } = await bundled(program);
    expect(nodes).toEqual([]);
    const { run } = vm.runInNewContext(`${code}\nprogram`, web()) as { run(): Promise<string> };
    expect(await run()).toBe("fitted");
  });
});
