import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "espalier-main-"));
afterAll(() => rmSync(directory, { recursive: true }));

const program = [
  "--import",
  createRequire(import.meta.url).resolve("tsx"),
  fileURLToPath(new URL("./main.ts", import.meta.url)),
];
const espalier = (args: readonly string[], { cwd, ...env }: NodeJS.ProcessEnv & { cwd?: string } = {}) =>
  spawnSync(process.execPath, [...program, ...args], {
    ...(cwd !== undefined && { cwd }),
    encoding: "utf8",
    env: { ...process.env, ...env },
  });

/** The commands that a help text lists, with the first line of what they do. */
const listed = (help: string): readonly (readonly [name: string, does: string])[] =>
  [...(help.split("Commands:")[1] ?? "").matchAll(/^ {2}([\w-]+)(?: \[.*?\])? {2,}(\S.*)$/gm)].map(
    ([, name = "", does = ""]) => [name, does],
  );

it("help loads no command, and says what each of those that there are does", () => {
  const { stdout } = espalier(["--help"], { NODE_V8_COVERAGE: directory });
  const loaded = readdirSync(directory).map((file) => readFileSync(join(directory, file), "utf8"));
  expect(loaded.join("")).toContain("/src/cli/main.ts");
  expect(loaded.join("")).not.toMatch(/\/src\/(engine|config)\/|\/src\/cli\/train\.ts/);

  // The completion is made of the commands themselves, all of which it loads.
  const top = espalier(["completion", "fish"]).stdout.matchAll(
    /^complete -c espalier -n 'not __fish_seen_subcommand_from [^']*' -a ([\w-]+) -d '(.*)'$/gm,
  );
  const does = new Map([...top].map(([, name = "", text = ""]) => [name, text.replaceAll("'\\''", "'")]));
  const help = listed(stdout).filter(([name]) => name !== "help");
  expect(help.length).toBeGreaterThan(20);
  expect(help.map(([name]) => name)).toEqual([...does.keys()]);
  for (const [name, line] of help) expect(does.get(name)).toContain(line);
});

it("a command is found by its name, hidden or not, and by one like it", () => {
  for (const name of ["train", "sweep-run", "prove-resume-part"])
    expect(espalier([name]).stderr).toContain("missing required argument");
  expect(espalier(["train"]).stderr).toContain("(espalier train --help says what it takes)");
  expect(espalier(["checkpoint", "prune"]).stderr).toContain("(espalier checkpoint prune --help says");
  expect(espalier(["help", "train"]).stdout).toMatch(/^Usage: espalier train .*\n\ntrain the run/);
  expect(espalier(["checkpoint", "diff", "a"]).status).toBe(2);
  expect(espalier(["checkpoint", "diff", "--help"]).status).toBe(0);
  expect(espalier(["tarin"]).stderr).toContain("Did you mean train?");
});

const run = join(directory, "run.yaml");
writeFileSync(
  run,
  `engine: wasm
stats: false
task:
  use: supervisedTask
  model: { use: nn.mlp, hidden: [4], out: 1 }
  optimizer: { use: optim.adam }
  loss: { get: nn.mse }
  batchSize: 4
  data: { x: [[0], [1], [2], [3]], y: [[0], [0], [1], [1]] }
training: { epochs: 4, seed: 1 }
`,
);

it("a reader that goes away ends no run and is no failure", async () => {
  const runs = join(directory, "piped");
  const child = spawn(process.execPath, [...program, "train", run, "--set", `directory=${runs}`]);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdout.destroy();
  expect(await once(child, "close")).toEqual([0, null]);
  expect(errors).toBe("");
  const [id = ""] = readdirSync(runs);
  expect(JSON.parse(readFileSync(join(runs, id, "run.json"), "utf8"))).toMatchObject({
    outcome: "completed",
  });
});

it("an output that is full is told of once", () => {
  const full = openSync("/dev/full", "w");
  const { stderr, status } = spawnSync(process.execPath, [...program, "train", run, "--quiet", "--json"], {
    ...{ encoding: "utf8", cwd: directory },
    stdio: ["ignore", full, "pipe"],
  });
  expect(status).toBe(1);
  expect(stderr.match(/FILE_FAILED/g)).toHaveLength(1);
});

it("what comes next names a run by its directory where the commands would not find it", () => {
  const there = join(directory, "there");
  const { stdout } = espalier(["train", run, "--set", `directory=${there}`, "--set", "stats=there.db"], {
    cwd: directory,
  });
  const [, next = ""] = /next: .* show (.*)/.exec(stdout) ?? [];
  expect(next).toMatch(/^there\/run-/);
  expect(espalier(["show", next], { cwd: directory }).stdout).toContain("completed");
  expect(espalier(["train", run, "--set", `directory=${there}`], { cwd: directory }).stdout).not.toMatch(
    /next:/,
  );
});

it("a promise that is never resolved is named", () => {
  writeFileSync(
    join(directory, "never.mjs"),
    'export default () => ({ name: "never", onEpochEnd: () => new Promise(() => {}) });',
  );
  const { stderr, status } = espalier(["train", run, "--set", "hooks=['./never.mjs']"], { cwd: directory });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/NEVER_RESOLVED/)]);
});

it("a configuration is trained before a run of it is proved", () => {
  const { stderr, status } = espalier(["prove-resume", run]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/SETUP_INVALID.*espalier train/s);
});
