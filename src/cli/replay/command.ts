import { existsSync, readdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { isOnS3 } from "../../checkpoint/index.ts";
import { EspalierError, makeDirectory, numberText, printable } from "../../core/index.ts";
import type { Environment, Replay, ReplayVerdict } from "../../rl/index.ts";
import { option, type Values, withOptions } from "../options.ts";
import { inRun } from "../predict.ts";
import { ranElsewhere, withModule } from "../run-again.ts";
import { checkFree, type Surroundings, styleFor, thisProcess } from "../terminal.ts";
import { jsonText } from "../text.ts";
import { configuredParts } from "../train.ts";
import { printFrames, textFrames, watch } from "./film.ts";

const replayOptions = {
  runs: option.runs(),
  speed: option.number("<times>", "how fast: 1 is 30 steps a second", { min: 0.01, max: 30, default: 1 }),
  svg: option.text("<file>", "write an animated SVG instead"),
  gif: option.text("<file>", "write an animated GIF instead"),
  width: option.count("<pixels>", "how wide a GIF is", { min: 8, max: 4096, default: 400 }),
  force: option.force(),
  frames: option.flag(
    "print every picture below the other, without waiting; so it is where there is no terminal",
  ),
  columns: option.count("<n>", "how many letters wide pictures are (default: as wide as the terminal)", {
    min: 8,
    max: 1000,
  }),
  module: option.module(),
  config: option.text("<file|run>", "import what a configuration, or that of a run, imports"),
  json: option.json("print what it is and whether it plays as it was recorded, as JSON"),
};
type ReplayCommandOptions = Values<typeof replayOptions>;

const FPS = 30;

export function registerReplay(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("replay"), replayOptions)
    .argument(
      "<replay>",
      "a replay, its file: URI or address on S3; or a directory of replays or a run (its directory, id or name), of which the newest is taken",
    )
    .addHelpText(
      "after",
      `
It is played before anything is shown: exit code 1 where it does not go as it was recorded, 130 where watching
it was interrupted.

Examples:
  espalier replay maze                          the newest one of the run
  espalier replay best.replay --speed 0.5
  espalier replay best.replay --gif best.gif
  espalier replay mine.replay --config run.yaml
  espalier replay mine.replay --module ./my-environment.mts`,
    )
    .action((from: string, options: ReplayCommandOptions) => replay(from, options, around));
}

async function replay(from: string, options: ReplayCommandOptions, around: Surroundings): Promise<void> {
  const { out, err } = around;
  const { columns, width } = options;
  const fps = FPS * options.speed;
  for (const file of [options.svg, options.gif]) if (file !== undefined) checkFree(file, options.force);
  if (await ranElsewhere(options.module)) return;
  // Environments bring the engine along: other commands start faster without.
  const rl = await import("../../rl/index.ts");
  const given = from.endsWith(".replay") ? from : await inRun(from, options.runs, "replays");
  const { path, among } = isOnS3(from) ? { path: from, among: 1 } : locateReplay(rl.replayPath(given));
  const { configAround, locateConfig } = await import("../../config/index.ts");
  const { config } = options;
  const place = config === undefined ? configAround(path) : locateConfig(config, options.runs);
  if (place && !(await configuredParts(place, [], []))) return;
  const recorded = await rl.readReplay(path);
  const make = (): Environment => environmentOf(recorded, options.module, rl.makeEnvironment);
  const verdict = closing(make(), (environment) => rl.verifyReplay(recorded, environment));
  if (!verdict.fits) process.exitCode = 1;
  if (options.json) return out.write(`${jsonText(replayJson(recorded, verdict, path))}\n`);
  if (among > 1) await err.write(`${path}: the newest of ${among}\n`);
  await (verdict.fits ? out : err).write(`${[...replayText(recorded), verdictText(verdict)].join("\n")}\n`);
  const drawings = closing(make(), (environment) => rl.replayFrames(recorded, environment));
  if (options.svg !== undefined) await writePicture(options.svg, rl.asSvgAnimation(drawings, { fps }));
  if (options.gif !== undefined) await writePicture(options.gif, rl.asGif(drawings, { fps, width }));
  const written = [options.svg, options.gif].filter((file) => file !== undefined);
  if (written.length > 0) return out.write(`wrote ${written.join(" and ")}: ${drawings.length} pictures\n`);
  const inPlace = out.isTTY && !options.frames && around.env.TERM !== "dumb";
  const color = styleFor(out, around.env, false).colors.isColorSupported;
  // A line that ends in the last column is not the same on all terminals; some do not know their size.
  const columnsThere = out.columns ? Math.max(8, out.columns - 1) : undefined;
  const room = { columns: columnsThere, rows: inPlace ? out.rows || undefined : undefined, color };
  const frames = textFrames(drawings, columns, room, rl.asText);
  if (!inPlace) return printFrames(frames, around);
  // As of a program that Ctrl-C ends.
  if (!(await watch({ frames, fps }, around))) process.exitCode = 130;
}

const SUFFIX = ".replay";

/**
 * A file, or the newest replay of a directory: those in it, and those that a store keeps in directories of their own;
 * and among how many it was chosen.
 */
export function locateReplay(path: string): { readonly path: string; readonly among: number } {
  if (!existsSync(path))
    throw new EspalierError("REPLAY_MISSING", `there is nothing at ${path}`, {
      fix: "give a replay, its file: URI, or a directory of replays; an evaluationHook with replays records some",
    });
  if (!statSync(path).isDirectory()) return { path, among: 1 };
  const found = replaysIn(path);
  const newest = found
    .map((file) => ({ file, time: statSync(file).mtimeMs }))
    .sort((a, b) => b.time - a.time || (a.file < b.file ? 1 : -1))[0];
  if (newest) return { path: newest.file, among: found.length };
  throw new EspalierError("REPLAY_MISSING", `${path} holds no replays`, {
    fix: `give a file whose name ends in ${SUFFIX}, or a directory of such`,
  });
}

function replaysIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.name.startsWith(".")) return [];
    if (!entry.isDirectory()) return entry.name.endsWith(SUFFIX) ? [path] : [];
    return readdirSync(path)
      .filter((name) => name.endsWith(SUFFIX) && !name.startsWith("."))
      .map((name) => join(path, name));
  });
}

/** Makes the environment of a replay. The error of one that is not registered says how to register it. */
function environmentOf(
  { environment }: Replay,
  module: string | undefined,
  make: (name: string) => Environment,
): Environment {
  try {
    return make(environment);
  } catch (cause) {
    throw withModule(cause, module, "or give --config, the run or its file");
  }
}

function closing<T>(environment: Environment, use: (environment: Environment) => T): T {
  try {
    return use(environment);
  } finally {
    environment.close?.();
  }
}

/** `CartPole-v1, seed 7: 500 steps, return 500, truncated`, and what else is known of it. */
function replayText(replay: Replay): readonly string[] {
  const { environment, lesson, lessonName, seed, length, end, agents, about } = replay;
  const which = lessonName ?? (lesson > 0 ? `${lesson}` : undefined);
  const parts = [environment, ...(which === undefined ? [] : [`lesson ${which}`]), `seed ${seed}`];
  const went = [
    `${length} steps`,
    `return ${numberText(replay.return, { digits: 6 })}`,
    end === "cut" ? "cut off" : end,
  ];
  const of = agents > 1 ? [`${agents} agents`] : [];
  const more = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  return [
    `${parts.join(", ")}: ${[...went, ...of].join(", ")}`,
    ...(more.length > 0 ? [more.join(", ")] : []),
  ].map((line) => printable(line, 1000));
}

const verdictText = (verdict: ReplayVerdict): string =>
  verdict.fits
    ? "verified: it plays as it was recorded"
    : `this is not what was recorded: ${printable(verdict.difference)}. What is shown is what the environment does now`;

/** All that is known, for programs. */
function replayJson(replay: Replay, verdict: ReplayVerdict, path: string): object {
  const { actions: _actions, observations, ...facts } = replay;
  return { path, ...facts, observations: observations.digest, verdict };
}

async function writePicture(file: string, content: string | Uint8Array): Promise<void> {
  try {
    makeDirectory(dirname(resolve(file)));
    await writeFile(file, content);
  } catch (cause) {
    throw new EspalierError("EXPORT_FAILED", `${file} could not be written: ${(cause as Error).message}`, {
      fix: "give a file in a directory that can be written to",
      cause,
    });
  }
}
