import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "espalier-main-"));
afterAll(() => rmSync(directory, { recursive: true }));

const espalier = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync(
    process.execPath,
    ["--import", "tsx", fileURLToPath(new URL("./main.ts", import.meta.url)), ...args],
    { encoding: "utf8", env: { ...process.env, ...env } },
  );

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
  expect(espalier(["help", "train"]).stdout).toMatch(/^Usage: espalier train .*\n\ntrain the run/);
  expect(espalier(["tarin"]).stderr).toContain("Did you mean train?");
});
