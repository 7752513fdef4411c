// Checks the package as users get it: packs it, installs the archive into an empty project and uses it there, on every
// engine that is here. `npm run check:installed -- hooks.md rl` runs the checks whose names contain a word given.
//
//   build, pack, install        one after the other, into a temporary folder
//   checks                      as many at a time as there are cores; a line for each, and how many passed at the end
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "vite";
import manifest from "../package.json" with { type: "json" };
import { installedOptions, root } from "./compiler-options.ts";
import { brokenLinks, type DocProgram, programsIn } from "./doc-programs.ts";
import { type Check, once, output, runChecks, seconds } from "./installed/checks.ts";
import { install, pack, tsx } from "./installed/package.ts";

/** Versions of Node that are tried beside the one that runs this, and the oldest and the newest TypeScript. */
const NODES = ["22", "24", "26"];
const COMPILERS = ["5.7", "latest"];

/** Examples that train for a minute on wasm: they run on the best engine here. */
const takesLong = /\/(18-impala|19-language-rl)\.ts$/;

const words = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "espalier-installed-"));
const project = join(work, "project");
const installed = join(project, "node_modules/espalier");
const tool = (name: string): string => join(root, "node_modules/.bin", name);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

let failed = 0;
const start = performance.now();
try {
  const { archive: tarball, bytes } = await step("build and pack", () => pack(work));
  say(`       ${basename(tarball)}: ${(bytes / 1e6).toFixed(2)} MB`);
  await step("npm install into an empty project", () => install(project, tarball, tsx));
  const engines = await step("engines", enginesHere);
  const all = [...programChecks(engines), ...useChecks(engines), ...packageChecks(tarball)];
  const chosen = all.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (chosen.length === 0) throw new Error(`no check matches ${words.join(", ")}`);
  ({ failed } = await runChecks(chosen, { atOnce: Math.min(4, availableParallelism()), write: say }));
} catch (error) {
  failed = 1;
  say(error instanceof Error ? error.message : String(error));
} finally {
  rmSync(work, { recursive: true, force: true });
}
say(`${seconds(start)} in all`);
process.exitCode = failed === 0 ? 0 : 1;

async function step<T>(name: string, run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await run();
  say(`ok     ${seconds(start)} ${name}`);
  return result;
}

/** The engines that can run here, the best first; xla must be among them where it is required. */
async function enginesHere(): Promise<readonly string[]> {
  const command = ["npx", "--no-install", "espalier", "engine", "list", "--json"];
  const { entries } = JSON.parse(await output(command, { cwd: project }));
  const names: string[] = [...new Set<string>(entries.map(({ engine }: { engine: string }) => engine))];
  for (const name of process.env.ESPALIER_REQUIRE?.split(",") ?? [])
    if (name === "xla" && !names.includes(name)) throw new Error("xla is required, and is not here");
  say(`       ${names.join(", ")}`);
  return names;
}

/** Every program of README and docs, every example and every run, as a reader pastes it: each in a folder of its own. */
function programChecks(engines: readonly string[]): readonly Check[] {
  const pages = readdirSync(join(installed, "docs")).filter((file) => file.endsWith(".md"));
  const examples = (readdirSync(join(installed, "examples"), { recursive: true }) as string[])
    .filter((file) => /(^|\/)(\d\d-.*|demo)\.ts$/.test(file))
    .sort();
  const runs = readdirSync(join(installed, "examples/runs")).filter((file) => file.endsWith(".yaml"));
  const perEngine = (name: string, run: (engine: string) => Promise<unknown>): Check[] =>
    (takesLong.test(name) ? engines.slice(0, 1) : engines).map((engine) => ({
      name: `${name} on ${engine}`,
      run: async () => void (await run(engine)),
    }));

  return [
    // Agents take longest, so they begin.
    ...readmeChecks(),
    ...examples.reverse().flatMap((file) =>
      perEngine(`examples/${file}`, async (engine) => {
        const folder = room();
        cpSync(join(installed, "examples"), folder, { recursive: true });
        await typescript(folder, file, engine);
      }),
    ),
    ...pages.flatMap((page) => {
      const programs = programsIn(`docs/${page}`, installed);
      if (programs.length === 0) return [];
      return perEngine(`docs/${page}`, async (engine) => {
        const printed = await runInTurn(programs, engine);
        if (page === "hooks.md") assert.equal(printed, textBlocks(`docs/${page}`), "what its programs print");
      });
    }),
    ...runs.map((file) => ({
      name: `espalier plan examples/runs/${file}`,
      run: async () => {
        const folder = room();
        cpSync(join(installed, "examples"), join(folder, "examples"), { recursive: true });
        const { hooks } = JSON.parse(await espalier(folder, "plan", `examples/runs/${file}`, "--json"));
        assert.ok(hooks.length > 0, "the run has hooks");
        assert.deepEqual(readdirSync(folder), ["examples"], "a plan writes nothing");
      },
    })),
    // On one engine each: the slow tests of prove-resume have both.
    ...["rings", "grid"].map((name, i): Check => {
      const engine = engines[i % engines.length] as string;
      return {
        name: `prove-resume examples/setups/${name}.ts on ${engine}`,
        run: async () => {
          const folder = room();
          cpSync(join(installed, "examples/setups"), folder, { recursive: true });
          await espalier(folder, "prove-resume", `${name}.ts`, "--engine", engine);
        },
      };
    }),
  ];
}

/** What the README says of its programs, on the engine that is taken by itself. */
function readmeChecks(): readonly Check[] {
  const promises: readonly ((lines: readonly string[]) => void)[] = [
    ([loss]) => assert.ok(Number(loss) < 0.01, `the loss falls under 0.01: ${loss}`),
    (lines) => assert.equal(lines.at(-1), "yes"),
    ([mean, choice]) => {
      assert.ok(Number(mean) >= 475, `the pole is balanced: ${mean}`);
      assert.equal(choice, "1");
    },
    (lines) => {
      assert.deepEqual(
        lines.map((line) => line.split(" ")[0]),
        ["100", "200", "300", "400", "completed"],
      );
      const losses = lines.map((line) => Number(line.split(" ")[1]));
      assert.ok(
        losses.every((loss) => loss < Number(losses[0]) || loss === losses[0]),
        "the loss falls",
      );
      assert.ok(Number(losses.at(-1)) < 0.01, `the loss falls under 0.01: ${losses}`);
    },
  ];
  return programsIn("README.md", installed).map((program, i) => ({
    name: `README.md, program ${i + 1}`,
    run: async () => {
      const printed = await runInTurn([program]);
      promises[i]?.(printed.trim().split("\n"));
    },
  }));
}

/** Doors alone, the command, plain JavaScript, CommonJS, and other versions of Node. */
function useChecks(engines: readonly string[]): readonly Check[] {
  const doors = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
  const stored = new Map<string, () => Promise<string>>();
  /** The numbers of a small training with a stats store, by a version of Node: computed once. */
  const numbers = (version: string, engine: string): Promise<Stored> => {
    const key = `${version} ${engine}`;
    const run =
      stored.get(key) ?? once(() => nodeOf(version).then((node) => script(node, "stored.mjs", engine)));
    stored.set(key, run);
    return run().then((text) => JSON.parse(text));
  };
  const own = process.versions.node;
  return [
    ...doors.flatMap((door): Check[] => {
      const name = door.replace(/^\.\/?/, "") || "espalier";
      const file = join(root, "scripts/doors", `${name}.ts`);
      const title = `a training through ${door.replace(".", "espalier")} alone`;
      return [
        ...engines.map((engine) => ({
          name: `${title} on ${engine}`,
          run: async () => {
            const folder = room();
            cpSync(file, join(folder, "program.ts"));
            await typescript(folder, "program.ts", engine);
          },
        })),
        { name: `${title}, bundled`, run: async () => void (await bundled(file)) },
      ];
    }),
    {
      name: "threads of a bundled program, by the package beside it",
      run: async () =>
        assert.match(
          await bundled(join(root, "scripts/installed/threads.ts")),
          /by [1-9] threads; threads of/,
        ),
    },
    {
      name: "worker processes",
      run: async () =>
        assert.equal(await script(process.execPath, "workers.mjs", "wasm"), "worker-0.1 has weights 3\n"),
    },
    {
      name: "espalier --help",
      run: async () => assert.match(await espalier(room(), "--help"), /Usage: espalier/),
    },
    {
      name: "espalier --version",
      run: async () => assert.equal(await espalier(room(), "--version"), `${manifest.version}\n`),
    },
    {
      name: "espalier engine list",
      run: async () => assert.match(await espalier(room(), "engine", "list"), /^wasm .*this package$/m),
    },
    ...engines.flatMap((engine): Check[] => [
      { name: `plain JavaScript on ${engine}`, run: async () => void (await numbers(own, engine)) },
      {
        name: `require("espalier") on ${engine}`,
        run: async () => void (await script(process.execPath, "required.cjs", engine)),
      },
      ...NODES.map((version) => ({
        name: `a training with a stats store, Node ${version} on ${engine}: the same numbers`,
        run: async () => {
          const [here, there] = [await numbers(own, engine), await numbers(version, engine)];
          // Products on wasm round once where WebAssembly has a fused multiplication, which is from Node 22 on.
          const before = engine === "wasm" && Number.parseInt(own, 10) < 22;
          assert.deepEqual(there, before ? await numbers(NODES[0] as string, engine) : here);
          there.losses.forEach(([step, loss], i) => {
            const [at, expected] = here.losses[i] as [number, number];
            assert.ok(
              step === at && Math.abs(loss - expected) < 1e-4,
              `step ${step}: ${loss}, not ${expected}`,
            );
          });
        },
      })),
    ]),
  ];
}

interface Stored {
  readonly losses: readonly (readonly [step: number, loss: number])[];
  readonly parameters: string;
}

/** The archive, its links and its types. */
function packageChecks(tarball: string): readonly Check[] {
  const options = ["--strict", "--noEmit", "--target", "es2022"];
  const modules = { nodenext: "nodenext", bundler: "preserve" };
  return [
    {
      name: "publint",
      run: async () => void (await output([tool("publint"), tarball, "--strict"], { cwd: root })),
    },
    {
      name: "attw",
      run: async () =>
        void (await output([tool("attw"), tarball, "--profile", "esm-only", "--format", "ascii"], {
          cwd: root,
        })),
    },
    {
      name: "links of README, docs and examples lead to files of the package",
      run: async () => assert.deepEqual(brokenLinks(installed), []),
    },
    {
      name: "types of README, docs and examples",
      run: async () => {
        const folder = room();
        cpSync(join(installed, "examples"), join(folder, "examples"), { recursive: true });
        for (const { name, source } of allPrograms()) writeFileSync(join(folder, `${name}.mts`), source);
        const config = { compilerOptions: installedOptions(), include: ["**/*"] };
        writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
        await output([tool("tsc"), "--project", "."], { cwd: folder });
      },
    },
    ...COMPILERS.flatMap((version) => {
      const compiler = once(async () => {
        const folder = join(work, `typescript-${version}`);
        await install(folder, `typescript@${version}`);
        return join(folder, "node_modules/typescript/bin/tsc");
      });
      return Object.entries(modules).map(([resolution, module]) => ({
        name: `types, TypeScript ${version}, ${resolution}, without @types/node`,
        run: async () => {
          const folder = room();
          writeFileSync(join(folder, "doors.mts"), everyDoor());
          for (const { name, source } of programsIn("README.md", installed))
            writeFileSync(join(folder, `${name}.mts`), source);
          const files = readdirSync(folder);
          const how = ["--module", module, "--moduleResolution", resolution];
          await output([process.execPath, await compiler(), ...options, ...how, ...files], { cwd: folder });
        },
      }));
    }),
  ];
}

/** A module that takes every door of the package. */
function everyDoor(): string {
  return Object.keys(manifest.exports)
    .filter((name) => name !== "./package.json")
    .map((name, i) => `import * as door${i} from "${name.replace(".", "espalier")}";\nexport { door${i} };\n`)
    .join("");
}

function allPrograms(): readonly DocProgram[] {
  const pages = readdirSync(join(installed, "docs")).filter((file) => file.endsWith(".md"));
  return ["README.md", ...pages.map((page) => `docs/${page}`)].flatMap((page) => programsIn(page, installed));
}

/** The blocks of a page that are marked as text, together. */
function textBlocks(page: string): string {
  const text = readFileSync(join(installed, page), "utf8");
  return [...text.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join("");
}

/** A new folder inside the project. */
function room(): string {
  const folder = join(project, "rooms");
  mkdirSync(folder, { recursive: true });
  return mkdtempSync(join(folder, "room-"));
}

/** Runs programs one after the other in one process, and gives what they wrote. */
function runInTurn(programs: readonly DocProgram[], engine = "auto"): Promise<string> {
  const folder = room();
  for (const { name, source } of programs) writeFileSync(join(folder, `${name}.mts`), source);
  const all = programs.map(({ name }) => `await import("./${name}.mts");\n`);
  writeFileSync(join(folder, "all.mts"), all.join(""));
  return typescript(folder, "all.mts", engine);
}

/** Runs a TypeScript file with the project's tsx. */
function typescript(cwd: string, file: string, engine: string): Promise<string> {
  return output([process.execPath, "--import", "tsx", file], { cwd, env: { ESPALIER_ENGINE: engine } });
}

/** Runs a file of scripts/installed/ with a Node. */
function script(node: string, file: string, engine: string): Promise<string> {
  const folder = room();
  cpSync(join(root, "scripts/installed", file), join(folder, file));
  return output([node, file], { cwd: folder, env: { ESPALIER_ENGINE: engine } });
}

/** Runs the command of the package. */
function espalier(cwd: string, ...args: readonly string[]): Promise<string> {
  return output(["npx", "--no-install", "espalier", ...args], { cwd });
}

/** Bundles a program and the package in it, with what is not used left out, runs it and gives what it wrote. */
async function bundled(program: string): Promise<string> {
  const folder = room();
  cpSync(program, join(folder, "program.ts"));
  await build({
    root: folder,
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: ["espalier"] },
    build: { ssr: "program.ts", outDir: "dist", target: "node20" },
  });
  const env = { ESPALIER_ENGINE: "wasm" };
  return output([process.execPath, join("dist", "program.js")], { cwd: folder, env });
}

/** The program of a version of Node: this one, or one that npm brings. */
async function nodeOf(version: string): Promise<string> {
  if (version === process.versions.node) return process.execPath;
  const folder = join(work, `node-${version}`);
  await install(folder, `node@${version}`);
  return join(folder, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");
}
