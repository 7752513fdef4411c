import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { requirePlugin } from "./plugin/require-plugin.test-support.ts";

const plugin = requirePlugin();
/** `script` gives a program a terminal. Under ESPALIER_REQUIRE a skipped test is a failure that names it. */
const terminal = spawnSync("script", ["-qec", "test -t 2", "/dev/null"], { stdio: "pipe" }).status === 0;

const source = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
const opening = `
  import { compileStatus } from ${source("engine/xla/compile-status.ts")};
  let threads = 0;
  process.on("worker", () => threads++);
  const status = compileStatus();
  status.interval = 2;
  /** Blocks this thread, as a compiler does, until the line is there. */
  const untilShown = () => { while (!status.shown) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); };
`;
const node = `"${process.execPath}" --import tsx --input-type=module -e "$PROGRAM"`;

function run(
  command: readonly [string, ...string[]],
  program: string,
  env: Readonly<Record<string, string>>,
) {
  const [file, ...args] = command;
  const { status, stdout, stderr } = spawnSync(file, args, {
    encoding: "utf8",
    env: {
      ...process.env,
      TERM: "xterm",
      NO_COLOR: "1",
      ESPALIER_PROGRESS: "",
      ...env,
      PROGRAM: opening + program,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect(status, stdout + stderr).toBe(0);
  return { stdout, stderr };
}
const onTerminal = (program: string, env: Readonly<Record<string, string>> = {}): string =>
  run(["script", "-qec", node, "/dev/null"], program, env).stdout.replaceAll("\r\n", "\n");

const erased = "\r\x1b[K";

describe.skipIf(!terminal)("a compilation on a terminal (needs the program script)", () => {
  it("is said with its count while it blocks, and nothing of it is left for what is written next", () => {
    const written = onTerminal(`
      console.log("before");
      const found = status.during("the training program", () => { untilShown(); return 7; });
      console.log("found", found, status.shown);
      try {
        status.during("\\x1b[2Jevil" + "!".repeat(500), () => { untilShown(); throw new Error("no"); });
      } catch (error) {
        console.log(error.message, status.shown);
      }
      status.during("quick", () => undefined);
      setImmediate(() => console.log("threads", threads));
    `);
    const [before, ...lines] = written.split(erased);
    expect(before).toBe("before\n");
    const said = lines.filter((line) => !line.endsWith("\n"));
    const counts = said
      .filter((line) => line.startsWith("compiling the training program, "))
      .map((line) => Number(/, (\d+) s$/.exec(line)?.[1]));
    expect(counts.length).toBeGreaterThan(0);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    expect(said.some((line) => line.includes("\\x1b[2Jevil"))).toBe(true);
    expect(Math.max(...said.map((line) => line.length))).toBeLessThan(80);
    const after = lines.filter((line) => line.endsWith("\n")).join("");
    expect(after).toBe("found 7 false\nno false\nthreads 1\n");
  });

  it("is not said with ESPALIER_PROGRESS=0", () => {
    const program = `
      status.during("the training program", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10));
      setImmediate(() => console.log("threads", threads));
    `;
    expect(onTerminal(program, { ESPALIER_PROGRESS: "0" })).toBe("threads 0\n");
  });

  it.skipIf(!plugin)(
    "of a task's updates is one of the training program, and leaves the progress alone",
    () => {
      const written = onTerminal(`
      import { nn, setEngine } from ${source("index.ts")};
      import { supervisedTrainer } from ${source("supervised/index.ts")};
      setEngine("xla");
      status.during("nothing", untilShown);
      const trainer = supervisedTrainer({
        model: nn.mlp({ hidden: [16], out: 2 }),
        trainingConfig: { epochs: 2, batchSize: 2 },
      });
      const trainData = { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: new Int32Array([0, 1, 1, 0]) };
      status.interval = 20;
      await trainer.train({ trainData, progress: true });
    `);
      expect(written).toContain(`${erased}compiling the training program, `);
      const others = written.split(erased).filter((line) => !/^compiling [^\r\n]*, \d+ s$/.test(line));
      expect(others.join("")).not.toContain("compiling");
      expect(others.join("")).toContain("completed");
    },
  );
});

describe.skipIf(!plugin)("a compilation without a terminal", () => {
  it("starts no thread and writes nothing", () => {
    const program = `
      import { compile, put, setEngine } from ${source("engine/index.ts")};
      setEngine("xla");
      console.log(await compile((x) => x.mul(2))(put([1, 2])).read());
      setImmediate(() => console.log("threads", threads));
    `;
    const { stdout, stderr } = run(["sh", "-c", node], program, {});
    expect(stdout).toBe("Float32Array(2) [ 2, 4 ]\nthreads 0\n");
    expect(stderr).toBe("");
  });
});
