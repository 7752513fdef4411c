import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once, output } from "../scripts/installed/checks.ts";
import { install, pack } from "../scripts/installed/package.ts";
import { EspalierError } from "../src/core/index.ts";
import type { Figure, TimedFigure } from "./harness/figure.ts";

const HOOKS = 50;

/** A project with the packed package and two configurations, outside the repository. It is gone when the run has ended. */
const project = once(async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "espalier-start-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  console.error("bench: building, packing and installing the package, once");
  const { archive } = await pack(folder);
  await install(folder, archive);
  writeFileSync(join(folder, "run.yaml"), configuration("[]"));
  writeFileSync(join(folder, "announce.js"), announceHook);
  writeFileSync(join(folder, "hooks.yaml"), configuration(`\n${hookLines().join("\n")}`));
  const planned = JSON.parse(
    await output([process.execPath, program(folder), "plan", "hooks.yaml", "--json"], { cwd: folder }),
  );
  if (planned.hooks.length < HOOKS)
    throw new EspalierError("BENCH_CHILD_FAILED", `the plan has ${planned.hooks.length} hooks, not ${HOOKS}`);
  return folder;
});

const program = (folder: string): string => join(folder, "node_modules/espalier/dist/cli/main.js");

const configuration = (hooks: string): string => `name: start
task: { use: ppo, env: CartPole-v1, totalSteps: 100000 }
training: { seed: 1 }
hooks: ${hooks}
`;

/** An evaluation, and hooks of three kinds, each with a name and numbers of its own: one kind is of a user's file. */
function hookLines(): readonly string[] {
  const kinds: readonly ((i: number) => string)[] = [
    (i) => `use: ./announce.js, name: announce-${i}, epochs: ${i + 1}`,
    (i) => `use: earlyStopping, name: stopping-${i}, metric: train/loss, patience: ${i + 5}`,
    (i) => `use: lossSpikeDetector, name: spikes-${i}, window: ${i + 20}`,
  ];
  const evaluation =
    "use: evaluationHook, player: { get: task.player }, suites: { all: { env: CartPole-v1 } }, schedule: { use: every, epochs: 5 }";
  const others = Array.from({ length: HOOKS - 1 }, (_, i) => kinds[i % kinds.length]?.(i));
  return [evaluation, ...others].map((hook) => `  - { ${hook} }`);
}

const announceHook = `import { every } from "espalier";

export default ({ name, epochs }) => ({
  name,
  schedule: every({ epochs }),
  onEpochEnd: ({ counters }) => console.log(name, counters.epochs),
});
`;

/** Milliseconds of a fresh process of Node in the project; each step starts another one. */
const figure = (
  name: string,
  words: (program: string) => readonly string[],
  { until = "end", bars = [] }: { readonly until?: Moment; readonly bars?: TimedFigure["bars"] } = {},
): TimedFigure => ({
  kind: "timed",
  name,
  engine: "host",
  unit: "ms",
  steps: 1,
  ours: async () => {
    const folder = await project();
    return { run: () => secondsUntil(until, words(program(folder)), folder) };
  },
  peers: {},
  bars,
});

type Moment = "end" | "first line";

/** Seconds from the start of a process to its end, or to the first line it writes, after which it is killed. */
function secondsUntil(moment: Moment, words: readonly string[], cwd: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    let [took, written] = [Number.NaN, ""];
    const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const take = (text: string): void => {
      written += text;
      if (moment === "end" || !Number.isNaN(took) || !written.includes("\n")) return;
      took = (performance.now() - start) / 1000;
      child.kill("SIGKILL");
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.on("error", reject);
    child.on("close", (code) => {
      if (moment === "end" && code === 0) took = (performance.now() - start) / 1000;
      if (!Number.isNaN(took) && !written.startsWith("error")) resolve(took);
      else
        reject(
          new EspalierError(
            "BENCH_CHILD_FAILED",
            `${words.slice(1).join(" ")} ended with code ${code}: ${written}`,
          ),
        );
    });
  });
}

/** How soon the command of the installed package answers. */
export const figures: readonly Figure[] = [
  figure("node -e 0, the least a command can take", () => ["-e", "0"]),
  figure("espalier --help", (program) => [program, "--help"], { bars: [{ kind: "absolute", below: 200 }] }),
  figure("espalier train FILE, until its first line", (program) => [program, "train", "run.yaml"], {
    until: "first line",
    bars: [{ kind: "absolute", below: 1000 }],
  }),
  figure(
    `espalier plan FILE, a configuration with ${HOOKS} hooks`,
    (program) => [program, "plan", "hooks.yaml"],
    {
      bars: [{ kind: "absolute", below: 1000 }],
    },
  ),
];
