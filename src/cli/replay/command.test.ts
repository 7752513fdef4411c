import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { localStore } from "../../checkpoint/index.ts";
import { decodeGif } from "../../rl/environments/rendering/gif.test-support.ts";
import { makeEnvironment, type Replay, recordEpisode, writeReplay } from "../../rl/index.ts";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import { createProgram } from "../program.ts";
import { captured } from "../runs/runs.test-support.ts";
import { type Surroundings, thisProcess } from "../terminal.ts";
import { registerReplay } from "./command.ts";

const { path } = testDirectory();

/** Twelve steps of CartPole or fewer. */
const record = (more: Partial<Replay> = {}): Promise<Replay> =>
  recordEpisode({
    env: makeEnvironment("CartPole-v1"),
    ...{ seed: 7, maxSteps: 12, about: { step: 1200 } },
    act: ([, , angle = 0]) => (angle > 0 ? 1 : 0),
  }).then((replay) => ({ ...replay, ...more }));

async function recorded(more: Partial<Replay> = {}, name = "best"): Promise<string> {
  return (await writeReplay(path(), await record(more), { name })).path;
}

/** Runs `espalier replay ...` in this process. */
async function replay(args: readonly string[], more: Partial<Surroundings> = {}) {
  const [out, err] = [captured(), captured()];
  const before = process.exitCode;
  process.exitCode = undefined;
  let error: unknown;
  try {
    const around: Surroundings = {
      ...thisProcess(),
      ...{ out, err, env: { LANG: "C.UTF-8" } },
      pause: () => Promise.reject(new Error("nothing to wait for in this test")),
      interrupts: () => ({ signal: new AbortController().signal, stop: () => undefined }),
      ...more,
    };
    await createProgram([(program) => registerReplay(program, around)]).parseAsync(["replay", ...args], {
      from: "user",
    });
  } catch (thrown) {
    error = thrown;
  }
  const code = process.exitCode ?? (error ? 1 : 0);
  process.exitCode = before;
  return { code, text: out.text(), errors: err.text(), error: error === undefined ? "" : String(error) };
}

describe("espalier replay", () => {
  it("says what it is, verifies it and prints every picture where there is no terminal", async () => {
    const { code, text, errors } = await replay([await recorded()]);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const [head, about, verified, ...pictures] = text.split("\n");
    expect(head).toBe("CartPole-v1, seed 7: 12 steps, return 12, cut off");
    expect(about).toBe("step 1200");
    expect(verified).toBe("verified: it plays as it was recorded");
    expect(pictures.join("\n").split("\n\n").length).toBeGreaterThanOrEqual(13);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("plays in place on a terminal, at the speed that was asked for", async () => {
    const pauses: number[] = [];
    const out = captured({ isTTY: true, columns: 40, rows: 12 });
    const pause = async (milliseconds: number) => void pauses.push(milliseconds);
    const { code } = await replay([await recorded(), "--speed", "0.5"], { out, pause });
    expect(code).toBe(0);
    expect(pauses).toEqual(Array(12).fill(1000 / 15));
    expect(out.text()).toContain("\u001b[?25l");
    expect(out.text().endsWith("\u001b[?25h")).toBe(true);
  });

  it("plays on a terminal that does not know its size", async () => {
    const out = captured({ isTTY: true, columns: 0, rows: 0 });
    const { code, error } = await replay([await recorded()], { out, pause: async () => undefined });
    expect({ code, error }).toEqual({ code: 0, error: "" });
  });

  it("is ended by Ctrl-C with the exit code of that", async () => {
    const controller = new AbortController();
    const { code } = await replay([await recorded()], {
      out: captured({ isTTY: true, columns: 40 }),
      pause: async () => controller.abort(),
      interrupts: () => ({ signal: controller.signal, stop: () => undefined }),
    });
    expect(code).toBe(130);
  });

  it("prints pictures on a terminal, too, where that is asked for", async () => {
    const out = captured({ isTTY: true, columns: 40 });
    await replay([await recorded(), "--frames", "--columns", "20"], { out, env: { NO_COLOR: "1" } });
    expect(out.text().replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    const pictures = out.text().split("\n").slice(3);
    expect(Math.max(...pictures.map((line) => line.length))).toBeLessThanOrEqual(20);
  });

  it("takes URIs, directories and entries of a store", async () => {
    const file = await recorded();
    expect((await replay([pathToFileURL(file).href, "--json"])).code).toBe(0);
    const store = await writeReplay(localStore(path("store")), await record({ seed: 7 }), { name: "entry" });
    expect(JSON.parse((await replay([store.path, "--json"])).text)).toMatchObject({ seed: 7 });
    copyFileSync(file, path("other.replay"));
    expect((await replay([path()])).errors).toMatch(/\.replay: the newest of 2\n/);
  });

  it("tells programs what it is", async () => {
    const found = JSON.parse((await replay([await recorded(), "--json"])).text);
    expect(found).toMatchObject({
      ...{ environment: "CartPole-v1", seed: 7, lesson: 0, length: 12, return: 12, end: "cut", agents: 1 },
      ...{ about: { step: 1200 }, verdict: { fits: true }, path: path("best.replay") },
    });
  });
});

describe("a replay that does not fit", () => {
  it("is said to be one, shown all the same, and the exit code is 1", async () => {
    const file = await recorded({ returns: [13] });
    const { code, text, errors } = await replay([file]);
    expect(code).toBe(1);
    expect(errors).toMatch(/this is not what was recorded: the return is 12, and was 13\./);
    expect(text).toMatch(/[\u2800-\u28ff]/);
    expect(JSON.parse((await replay([file, "--json"])).text).verdict).toMatchObject({
      fits: false,
      step: 12,
    });
  });

  it("is said to be one even where it cannot be shown", async () => {
    const actions = Float32Array.of(...(await record()).actions).fill(2, 5, 6);
    const { code, errors, error } = await replay([await recorded({ actions })]);
    expect(code).toBe(1);
    expect(errors).toMatch(/not what was recorded: step 6 fails: /);
    expect(error).toMatch(/ACTION_INVALID/);
  });
});

describe("films", () => {
  it("are GIFs with a picture for every step", async () => {
    const { code, text } = await replay([
      await recorded(),
      "--gif",
      path("films", "a.gif"),
      "--width",
      "100",
    ]);
    expect(code).toBe(0);
    expect(text).toContain(`wrote ${path("films", "a.gif")}: 13 pictures`);
    const gif = decodeGif(readFileSync(path("films", "a.gif")));
    expect(gif.width).toBe(100);
    expect(gif.frames.length).toBeGreaterThan(8);
    // Twelve thirtieths of a second, and one for the last picture.
    expect(gif.frames.reduce((sum, { delay }) => sum + delay, 0)).toBe(140);
  });

  it("are SVGs, also both at once", async () => {
    await replay([await recorded(), "--svg", path("a.svg"), "--gif", path("a.gif")]);
    expect(readFileSync(path("a.svg"), "utf8")).toMatch(/^<svg .*<animate /s);
    expect(existsSync(path("a.gif"))).toBe(true);
  });

  it("are not written over others unless that is asked for", async () => {
    const file = await recorded();
    writeFileSync(path("a.gif"), "mine");
    const { code, error } = await replay([file, "--gif", path("a.gif")]);
    expect(code).toBe(1);
    expect(error).toMatch(/a\.gif is there already.*EXPORT_EXISTS.*--force/s);
    expect(readFileSync(path("a.gif"), "utf8")).toBe("mine");
    expect((await replay([file, "--gif", path("a.gif"), "--force"])).code).toBe(0);
    expect(readFileSync(path("a.gif"), "latin1").startsWith("GIF89a")).toBe(true);
  });

  it("that cannot be written fail with a fix", async () => {
    writeFileSync(path("file"), "");
    expect((await replay([await recorded(), "--svg", path("file", "a.svg")])).error).toMatch(/EXPORT_FAILED/);
  });
});

describe("bad input", () => {
  it("names an environment that nobody registered, and how to", async () => {
    const file = await recorded({ environment: "Maze-v9" });
    const { code, error } = await replay([file]);
    expect(code).toBe(1);
    expect(error).toMatch(/no environment "Maze-v9".*--module FILE.*registerEnvironment\("Maze-v9"/s);
    writeFileSync(path("empty.mjs"), "");
    expect((await replay([file, "--module", path("empty.mjs")])).error).toMatch(
      /let .*empty\.mjs call registerEnvironment/,
    );
  });

  it("names modules that are not there or fail", async () => {
    const file = await recorded();
    expect((await replay([file, "--module", path("none.mjs")])).error).toMatch(/MODULE_MISSING/);
    writeFileSync(path("bad.mjs"), "throw new Error('no map');");
    expect((await replay([file, "--module", path("bad.mjs")])).error).toMatch(/no map.*MODULE_FAILED/s);
  });

  it.each<[string, readonly string[], RegExp]>([
    ["a speed that is none", ["--speed", "fast"], /--speed is "fast".*0\.01 to 30/s],
    ["a speed of nothing", ["--speed", "0"], /--speed is "0"/],
    ["columns that are none", ["--columns", "3"], /--columns is "3".*8 to 1000/s],
    ["a width that is none", ["--width", "wide"], /--width is "wide"/],
  ])("refuses %s", async (_what, options, message) => {
    expect((await replay([await recorded(), ...options])).error).toMatch(message);
  });

  it("says what is wrong with files", async () => {
    expect((await replay([path("none.replay")])).error).toMatch(/REPLAY_MISSING/);
    writeFileSync(path("notes.replay"), "hello");
    expect((await replay([path("notes.replay")])).error).toMatch(
      /notes\.replay is not a replay.*REPLAY_INVALID/s,
    );
    expect((await replay(["gs://bucket/a.replay"])).error).toMatch(/REPLAY_URI/);
  });
});
