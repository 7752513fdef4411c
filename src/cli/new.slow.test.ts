import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { installSources } from "./project.test-support.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "src/cli/main.ts");
const work = mkdtempSync(join(tmpdir(), "espalier-new-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Runs a program by this Node, from the sources of the package. */
function run(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args], {
    cwd,
    encoding: "utf8",
    // The first program of a project may be without a plugin: it is the engine of the package that must do.
    env: { ...process.env, ESPALIER_ENGINE: "wasm" },
  });
  if (status !== 0) console.error(stdout, stderr);
  return { status, stdout, stderr };
}

const tsx = join(dirname(createRequire(import.meta.url).resolve("tsx/package.json")), "dist/loader.mjs");
const espalier = (cwd: string, ...args: readonly string[]) => run(cwd, "--import", tsx, main, ...args);

/** Makes a project, and runs the commands of its `npm test` and `npm start`. */
function project(kind: string): { readonly directory: string; readonly name: string } {
  const directory = join(work, `My ${kind}`);
  const made = JSON.parse(espalier(work, "new", directory, "--kind", kind, "--json").stdout);
  expect(made).toMatchObject({ name: `my-${kind}`, directory });
  expect(made.files).toEqual(expect.arrayContaining([".gitignore", "my-hook.ts", "package.json"]));
  const { scripts, dependencies } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  expect(dependencies).toEqual({ espalier: manifest.version });
  installSources(directory);

  expect(scripts.test).toBe("node --import tsx --test test/*.test.ts");
  const tested = run(directory, "--import", "tsx", "--test", "test/my-hook.test.ts");
  expect([tested.status, tested.stdout]).toEqual([0, expect.stringMatching(/pass [23]\b/)]);
  expect(scripts.start).toBe("espalier train run.yaml");
  const started = espalier(directory, "train", "run.yaml");
  expect(started.status).toBe(0);
  expect(started.stdout).toMatch(/^my-\w+-\d{8}-/m);
  return { directory, name: made.name };
}

describe("espalier new", { timeout: 300_000 }, () => {
  it("makes an agent, whose tests pass and which learns its game", () => {
    const { directory, name } = project("agent");
    const id = readdirSync(join(directory, "runs")).find((file) => file.startsWith(name)) ?? "none";
    const scored = espalier(
      directory,
      "evaluate",
      `runs/${id}/checkpoints`,
      "--module",
      "./catch.ts",
      "--json",
    );
    expect(JSON.parse(scored.stdout).scores.Catch.return).toBeGreaterThan(0.6);
  });

  it("makes a classifier, which then predicts the rows of a file", () => {
    const { directory, name } = project("classifier");
    const file = join(directory, "predicted.csv");
    const asked = [name, "--input", "customers.csv", "--output", file, "--json"];
    const { predictions } = JSON.parse(espalier(directory, "predict", ...asked).stdout);
    const [head, ...lines] = readFileSync(file, "utf8").trim().split("\n");
    expect(head).toBe("age,income,city,member,bought,prediction");
    expect(espalier(directory, "predict", ...asked).stderr).toContain("EXPORT_EXISTS");
    expect(espalier(directory, "predict", ...asked, "--force").status).toBe(0);
    const right = lines.filter((line) => line.split(",")[4] === line.split(",")[5]);
    expect(right.length / lines.length).toBeGreaterThan(0.8);
    expect(predictions).toEqual(lines.map((line) => line.split(",")[5]));
  });

  it("makes a language model, which then writes words", () => {
    const { directory, name } = project("language");
    const asked = [name, "--prompt", "the ", "--tokens", "40", "--temperature", "0", "--json"];
    const { text } = JSON.parse(espalier(directory, "generate", ...asked).stdout);
    const known = new Set(readFileSync(join(directory, "text.txt"), "utf8").split(/[^a-z]+/));
    const words: string[] = text.split(/[^a-z]+/).slice(0, -1);
    expect(words.filter((word) => known.has(word)).length).toBeGreaterThan(words.length / 2);
  });

  it("refuses a directory that is not empty", () => {
    const { status, stderr } = espalier(work, "new", work);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/PROJECT_EXISTS/)]);
    expect(existsSync(join(work, "run.yaml"))).toBe(false);
  });
});
