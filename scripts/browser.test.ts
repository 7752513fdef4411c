import { builtinModules } from "node:module";
import { join } from "node:path";
import vm from "node:vm";
import { build, type Plugin, type Rolldown } from "vite";
import { describe, expect, it } from "vitest";
import { root } from "./compiler-options.ts";

const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));

/** Packages for Node that a browser never loads: they are imported when a database is opened. */
const absent: Readonly<Record<string, string>> = {
  pg: "export default {};",
  "@photostructure/sqlite": "export const DatabaseSync = undefined;",
};

/** A program of scripts/browser/ as one script for browsers, and what of Node it would load at once. */
async function bundled(
  program: string,
): Promise<{ readonly code: string; readonly nodes: readonly string[] }> {
  const entry = join(root, "scripts/browser", program);
  const nodes: string[] = [];
  const watch: Plugin = {
    name: "modules of Node",
    enforce: "pre",
    resolveId: (id) => (builtin.has(id) || id in absent ? `\0${id}` : null),
    load: (id) =>
      id.startsWith("\0") ? (absent[id.slice(1)] ?? (builtin.has(id.slice(1)) ? "" : null)) : null,
    buildEnd() {
      const seen = new Set([entry]);
      for (const id of seen)
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) {
          seen.add(imported);
          const name = imported.slice(1);
          if (builtin.has(name) || name in absent)
            nodes.push(`${id.replace(`${root}/`, "")} imports ${name}`);
        }
    },
  };
  const output = (await build({
    root,
    configFile: false,
    logLevel: "error",
    resolve: { tsconfigPaths: true },
    plugins: [watch],
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry, formats: ["iife"], name: "program" },
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
  it.each(["rooms.ts", "trainers.ts"])("%s loads no module of Node and runs", async (program) => {
    const { code, nodes } = await bundled(program);
    expect(nodes).toEqual([]);
    const { run } = vm.runInNewContext(`${code}\nprogram`, web()) as { run(): Promise<string> };
    expect(await run()).toBe("fitted");
  });
});
