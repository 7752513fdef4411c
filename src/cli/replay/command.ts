import type { Command } from "commander";
import { EspalierError } from "../../core/index.ts";
import type { Environment, Replay } from "../../rl/index.ts";
import { ranElsewhere } from "../load-module.ts";
import { type Surroundings, thisProcess } from "../runs/surroundings.ts";
import { jsonText } from "../runs/text/json-text.ts";
import { type Self, thisProgram } from "../self.ts";
import { checkFree, writePicture } from "./export.ts";
import { textFrames } from "./frames.ts";
import { locateReplay } from "./locate.ts";
import { fpsOf, type ReplayCommandOptions, widthOf } from "./options.ts";
import { replayJson, replayText, verdictText } from "./text.ts";
import { printFrames, watch } from "./watch.ts";

/** What this command needs of the process it runs in. */
export interface ReplaySurroundings
  extends Pick<Surroundings, "out" | "err" | "env" | "pause" | "interrupts"> {
  /** Lines of the terminal; undefined elsewhere. */
  readonly rows: number | undefined;
  /** How this program was called. */
  readonly self: Self;
  readonly args: readonly string[];
}

const thisTerminal = (): ReplaySurroundings =>
  Object.assign(Object.create(thisProcess()) as Surroundings, {
    rows: process.stdout.isTTY ? process.stdout.rows : undefined,
    self: thisProgram(),
    args: process.argv.slice(2),
  });

/** `espalier replay`. */
export function registerReplay(program: Command, around: ReplaySurroundings = thisTerminal()): void {
  program
    .command("replay")
    .description("watch a recorded episode, or make a film of it")
    .argument("<replay>", "a replay, its file: URI, or a directory of replays, of which the newest is taken")
    .option("--speed <times>", "how fast: 1 is 30 steps a second", "1")
    .option("--svg <file>", "write an animated SVG instead")
    .option("--gif <file>", "write an animated GIF instead")
    .option("--width <pixels>", "how wide a GIF is", "400")
    .option("--force", "write over a file that is there")
    .option(
      "--frames",
      "print every picture below the other, without waiting; so it is where there is no terminal",
    )
    .option("--columns <n>", "how many letters wide pictures are (default: as wide as the terminal)")
    .option(
      "--module <file>",
      "import this first: it registers environments of your own by registerEnvironment",
    )
    .option("--json", "print what it is and whether it plays as it was recorded, as JSON")
    .addHelpText(
      "after",
      `
It is played before anything is shown: exit code 1 where it does not go as it was recorded.

Examples:
  espalier replay runs/maze/replays             the newest one there
  espalier replay best.replay --speed 0.5
  espalier replay best.replay --gif best.gif
  espalier replay mine.replay --module ./my-environment.mts`,
    )
    .action((from: string, options: ReplayCommandOptions) => replay(from, options, around));
}

async function replay(
  from: string,
  options: ReplayCommandOptions,
  around: ReplaySurroundings,
): Promise<void> {
  const { out, err } = around;
  const fps = fpsOf(options.speed);
  const columns = options.columns === undefined ? undefined : widthOf("--columns", options.columns, 8, 1000);
  const width = widthOf("--width", options.width, 8, 4096);
  for (const file of [options.svg, options.gif])
    if (file !== undefined) checkFree(file, options.force === true);
  if (await ranElsewhere(options.module, around.self, around.args)) return;
  // Environments bring the engine along: other commands start faster without.
  const rl = await import("../../rl/index.ts");
  const { path, among } = locateReplay(rl.replayPath(from));
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
  const color = out.isTTY && !around.env.NO_COLOR && around.env.TERM !== "dumb";
  // A line that ends in the last column is not the same on all terminals; some do not know their size.
  const columnsThere = out.columns ? Math.max(8, out.columns - 1) : undefined;
  const room = { columns: columnsThere, rows: inPlace ? around.rows || undefined : undefined, color };
  const frames = textFrames(drawings, columns, room, rl.asText);
  if (!inPlace) return printFrames(frames, around);
  // As of a program that Ctrl-C ends.
  if (!(await watch({ frames, fps }, around))) process.exitCode = 130;
}

/** The environment of a replay; where nobody knows it, with what to do about it here. */
function environmentOf(
  { environment }: Replay,
  module: string | undefined,
  make: (name: string) => Environment,
): Environment {
  try {
    return make(environment);
  } catch (cause) {
    if (!(cause instanceof EspalierError) || cause.code !== "ENVIRONMENT_UNKNOWN") throw cause;
    throw new EspalierError(cause.code, `this replay is of "${environment}", which nobody has registered`, {
      fix:
        module === undefined
          ? `give --module FILE, a file that calls registerEnvironment("${environment}", { make })`
          : `let ${module} call registerEnvironment("${environment}", { make }); where it does, it has a copy of Espalier to itself: ` +
            'name it .mts or .mjs, or put "type": "module" into its package.json',
      cause,
    });
  }
}

function closing<T>(environment: Environment, use: (environment: Environment) => T): T {
  try {
    return use(environment);
  } finally {
    environment.close?.();
  }
}
