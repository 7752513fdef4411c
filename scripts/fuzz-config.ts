// Mutates the example configurations and plans each: `npm run fuzz:config -- --count 10000 --seed 1`. Whatever a file
// holds, it is planned, or refused by an EspalierError that has a place in it. Anything else ends this with code 1 and
// the mutation, which `--only NUMBER` tries again: another error, a stack in a message, a process that ends or hangs.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    only: { type: "string" },
  },
});
const seed = Number(values.seed);
const directory = fileURLToPath(new URL("../examples/runs/", import.meta.url));
const texts = readdirSync(directory)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => readFileSync(join(directory, name), "utf8"));

/** A process takes this many, so that none grows for ever. */
const PART = 500;
/** Milliseconds without a sign of life after which a process hangs. */
const PATIENCE = 120_000;

type Outcome = "planned" | "refused" | { readonly failed: string };

/** Gives numbers to processes, and counts what they found. */
async function tryAll(): Promise<void> {
  const count = Number(values.count);
  const numbers =
    values.only === undefined ? Array.from({ length: count }, (_, i) => i) : [Number(values.only)];
  const parts = Array.from({ length: Math.ceil(numbers.length / PART) }, (_, i) =>
    numbers.slice(i * PART, (i + 1) * PART),
  );
  const counts = { planned: 0, refused: 0, failed: 0 };
  const slowest = { ms: 0, number: 0 };
  const cwd = mkdtempSync(join(tmpdir(), "espalier-fuzz-"));

  const tryPart = async (part: readonly number[]): Promise<void> => {
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      cwd,
      execArgv: ["--import", import.meta.resolve("tsx")],
      env: {
        ESPALIER_ENGINE: "wasm",
        TSX_TSCONFIG_PATH: fileURLToPath(new URL("../tsconfig.json", import.meta.url)),
        ...process.env,
      },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let [done, began, printed] = [0, performance.now(), ""];
    const watch = setInterval(() => {
      if (performance.now() - began > PATIENCE) child.kill("SIGKILL");
    }, 1000);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-4000);
    });
    child.on("message", (outcome: Outcome) => {
      const number = part[done++] ?? 0;
      const ms = performance.now() - began;
      if (ms > slowest.ms && done > 1) Object.assign(slowest, { ms, number });
      began = performance.now();
      counts[typeof outcome === "string" ? outcome : "failed"]++;
      if (typeof outcome !== "string") console.error(`mutation ${number}: ${outcome.failed}\n`);
    });
    child.send(part);
    const [code, signal] = await once(child, "exit");
    clearInterval(watch);
    if (done === part.length) return;
    counts.failed++;
    const why = signal === "SIGKILL" ? "hangs, or was killed" : `ends the process (${code ?? signal})`;
    const number = part[done] ?? 0;
    console.error(`mutation ${number} ${why}: ${printed}\n${mutation(number)}\n`);
    await tryPart(part.slice(done + 1));
  };

  const next = async (): Promise<void> => {
    for (let part = parts.shift(); part; part = parts.shift()) {
      if (part.length > 0) await tryPart(part);
      console.error(`${counts.planned + counts.refused + counts.failed} of ${numbers.length}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, next));
  rmSync(cwd, { recursive: true, force: true });
  const { planned, refused, failed } = counts;
  console.log(`${refused} refused with their places, ${planned} planned, ${failed} neither`);
  console.log(`the slowest after a first one: ${Math.round(slowest.ms)} ms, mutation ${slowest.number}`);
  if (failed > 0) process.exitCode = 1;
}

/** Plans mutations, and tells the outcome of each. */
async function tryNumbers(): Promise<void> {
  const { buildRun, parseConfig, plannedTrainer } = await import("../src/config/index.ts");
  const { EspalierError } = await import("../src/core/index.ts");
  const { Trainer } = await import("../src/trainer/index.ts");
  // Some examples begin with parameters that they train first: here those are as they were drawn.
  Trainer.prototype.train = () => Promise.resolve(undefined as never);

  const outcomeOf = async (text: string): Promise<Outcome> => {
    try {
      const trainer = plannedTrainer(await buildRun(parseConfig(text, "run.yaml"), directory));
      trainer.hooks.plan();
      await trainer.hooks.close();
      return "planned";
    } catch (error) {
      const isLocated =
        error instanceof EspalierError &&
        /run\.yaml(:\d+:\d+| has )/.test(error.message) &&
        !/\n\s+at /.test(error.message);
      if (isLocated) return "refused";
      return { failed: `${error instanceof Error ? error.stack : String(error)}\n\n${text}` };
    }
  };
  const [numbers] = (await once(process, "message")) as [readonly number[]];
  for (const number of numbers) {
    const outcome = await outcomeOf(mutation(number));
    await new Promise((resolve) => process.send?.(outcome, resolve));
  }
  process.exit();
}

const pieces = [
  ...["null", "-1", "0", "3.5", ".inf", ".nan", "[]", "{}", '""', "true", "~", "*x", "&x", "a", "use: ppo"],
  ...[
    "{ use: every, epochs: 0 }",
    "{ get: task }",
    "{ get: rows }",
    "use:",
    "!!js/function x",
    "{ use: nn.mlp }",
  ],
  ...["\t", "'", '"', ": ", "- ", "\n", "#", "\u0000", "then: [map]", "{ use: never }", "../01-train.ts"],
];

/** The text of an example with some characters, lines or values changed, by the number of the mutation. */
function mutation(number: number): string {
  const random = numbersOf(seed, number);
  const at = (length: number): number => Math.floor(random() * length);
  let changed = texts[at(texts.length)] ?? "";
  for (let changes = 1 + at(3); changes > 0; changes--) {
    const where = at(changed.length);
    const piece = pieces[at(pieces.length)] ?? "";
    const lines = changed.split("\n");
    const kind = at(7);
    if (kind === 0) changed = changed.slice(0, where) + changed.slice(where + 1 + at(6));
    else if (kind === 1) changed = changed.slice(0, where) + piece + changed.slice(where);
    else if (kind === 2) changed = lines.toSpliced(at(lines.length), 1).join("\n");
    else if (kind === 3)
      changed = lines.toSpliced(at(lines.length), 0, lines[at(lines.length)] ?? "").join("\n");
    else if (kind === 4) changed = changed.replace(/: [^\n{[]+$/m, `: ${piece}`);
    else {
      // A word that is not of the comments before the configuration: a name, a number or a value.
      const found = [...changed.matchAll(/[\w.-]+/g)].filter(({ index }) => index > changed.search(/^\w/m));
      const word = found[at(found.length)];
      const other = kind === 5 ? piece : (found[at(found.length)]?.[0] ?? "");
      if (word) changed = changed.slice(0, word.index) + other + changed.slice(word.index + word[0].length);
    }
  }
  return changed;
}

/** Numbers from 0 to below 1, the same for a seed and the number of a mutation. */
function numbersOf(seed: number, number: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b9) + Math.imul(number, 0x85ebca6b)) >>> 0;
  return () => {
    // splitmix32
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

if (process.send) await tryNumbers();
else await tryAll();
