import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeEnvironment, recordEpisode, writeReplay } from "../../rl/index.ts";
import { walk } from "../../rl/replays/replays.test-support.ts";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const { path } = testDirectory();

/** Runs the command in a process of its own. */
async function run(
  args: readonly string[],
  read: (chunk: string, kill: () => void) => void = () => undefined,
) {
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], {
    env: { ...process.env, LANG: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [text, errors]: [string[], string[]] = [[], []];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text.push(chunk);
    read(chunk, () => child.stdout.destroy());
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => errors.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text: text.join(""), errors: errors.join("") };
}

/** Each starts Node and translates the program. */
describe("espalier replay in a process of its own", { timeout: 300_000 }, () => {
  it("plays environments of one's own, which a module registers", async () => {
    const replay = await recordEpisode({ env: walk(), seed: 3, act: () => 1 });
    const { path: file } = await writeReplay(path(), replay);
    const rl = new URL("../../rl/", import.meta.url).href;
    writeFileSync(
      path("mine.mts"),
      `import { registerEnvironment } from "${rl}index.ts";
       import { walk } from "${rl}replays/replays.test-support.ts";
       const name: string = "Walk";
       registerEnvironment(name, { make: () => walk() });`,
    );
    const { code, text, errors } = await run(["replay", file, "--module", path("mine.mts")]);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(text).toMatch(/^Walk, lesson short, seed 3: .*terminated\nverified/);
    expect(text).toContain("step 1");
    writeFileSync(path("run.yaml"), "imports: [./mine.mts]\ntask: { use: ppo, env: Walk }\n");
    expect((await run(["replay", file, "--config", path("run.yaml")])).text).toBe(text);
    // Those of a run, with the environments of its configuration.
    const directory = path("runs", "walker-1");
    mkdirSync(join(directory, "replays"), { recursive: true });
    cpSync(file, join(directory, "replays", "step-1.replay"));
    cpSync(path("run.yaml"), join(directory, "config.yaml"));
    const record = { id: "walker-1", name: "walker", source: "../../run.yaml", base: "../..", overrides: [] };
    writeFileSync(join(directory, "run.json"), JSON.stringify(record));
    for (const from of ["walker", directory, join(directory, "replays", "step-1.replay")])
      expect((await run(["replay", from, "--runs", path("runs")])).text, from).toBe(text);
  });

  it("ends cleanly when whoever reads goes away", async () => {
    const replay = await recordEpisode({
      env: makeEnvironment("Pendulum-v1"),
      ...{ seed: 1, act: () => [0.5] },
    });
    const { path: file } = await writeReplay(path(), replay);
    const { code, errors } = await run(["replay", file], (_chunk, leave) => leave());
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
  });
});
