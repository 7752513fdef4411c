import type { Command } from "commander";
import { CheckpointManager } from "../../checkpoint/index.ts";
import { codeOf, EspalierError, printableText } from "../../core/index.ts";
import { type CommandOptions, option, type Values, withOptions } from "../options.ts";
import { checkpointOf } from "../predict.ts";
import { jsonText } from "../text.ts";
import { diffCheckpoints, differs, diffText } from "./diff.ts";
import { inspect } from "./inspect.ts";
import { locate } from "./locate.ts";
import { type PruneOptions, prune, pruneOptions, pruneText } from "./prune.ts";

export function registerCheckpoint(program: Command): void {
  const checkpoint = program.command("checkpoint");
  const command = (name: string, table: CommandOptions, does: string): Command =>
    withOptions(checkpoint.command(name), table).description(does);
  const path = "a checkpoint or a directory of checkpoints, by path or address on S3; or a run";

  command("inspect", pathOptions, "what a checkpoint holds, or which checkpoints a directory does")
    .argument("<path>", path)
    .action(async (path: string, { json = false, runs }: Values<typeof pathOptions>) => {
      console.log(await inspect(await placeOf(path, runs), json));
    });

  command("verify", pathOptions, "read every byte and say what is damaged; exit code 1 if anything is")
    .argument("<path>", path)
    .action(async (path: string, { json, runs }: Values<typeof pathOptions>) => {
      const { checkpoints, text, damaged } = await verify(await placeOf(path, runs));
      console.log(json ? jsonText({ checkpoints, damaged }) : printableText(text));
      if (damaged > 0) process.exitCode = 1;
    });

  command(
    "diff",
    diffOptions,
    "compare two checkpoints bit for bit; exit code 1 if they differ, 2 if they cannot be compared",
  )
    .argument("<a>", "a checkpoint; of a directory of checkpoints, or a run, the newest")
    .argument("<b>", "another one")
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (a: string, b: string, { ignore, json, runs }: Values<typeof diffOptions>) => {
      process.exitCode = 2; // stays so if this throws
      const found = await diffCheckpoints(await placeOf(a, runs), await placeOf(b, runs), ignore);
      console.log(json ? jsonText(found) : printableText(diffText(found)));
      process.exitCode = found.some(differs) ? 1 : 0;
    });

  command(
    "prune",
    pruneOptions,
    "remove the checkpoints of a directory that no rule keeps; the newest always stays",
  )
    .argument("<store>", "a directory of checkpoints, by path or address on S3; or a run")
    .action(async (path: string, options: PruneOptions) => {
      const pruned = await prune(await placeOf(path, options.runs), options);
      console.log(options.json ? jsonText(pruned) : printableText(pruneText(pruned)));
    });
}

const pathOptions = { json: option.json(), runs: option.runs() };
const diffOptions = {
  ...pathOptions,
  ignore: option.texts("<components...>", "leave these out, such as time, which no two runs share"),
};

/** The checkpoints of a run; what is no run stays as it is, and is said to be missing where it is. */
const placeOf = (path: string, runs: string): Promise<string> =>
  checkpointOf(path, runs).catch((error: unknown) => {
    if (codeOf(error) === "RUN_MISSING") return path;
    throw error;
  });

/** Reads and hashes every byte of a checkpoint, or of all in a store. */
export async function verify(path: string) {
  const found = await locate(path);
  const manager = new CheckpointManager({ store: found.store });
  const names = found.kind === "store" ? (await manager.list()).map(({ name }) => name) : [found.name];
  if (names.length === 0)
    throw new EspalierError("CHECKPOINT_MISSING", `${path} holds no checkpoints`, {
      fix: "give the path of a checkpoint or of a directory of checkpoints",
    });
  const checkpoints: { readonly name: string; readonly problems: readonly string[] }[] = [];
  for (const name of names) checkpoints.push({ name, problems: await manager.verify(name) });
  const damaged = checkpoints.filter(({ problems }) => problems.length > 0).length;
  const lines = checkpoints.flatMap(({ name, problems }) =>
    problems.length === 0 ? [`${name}: whole`] : [`${name}: damaged`, ...problems.map((text) => `  ${text}`)],
  );
  if (names.length > 1) lines.push(`${names.length - damaged} of ${names.length} are whole`);
  return { checkpoints, text: lines.join("\n"), damaged };
}
