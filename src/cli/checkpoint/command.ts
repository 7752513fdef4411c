import type { Command } from "commander";
import { printableText } from "../../core/index.ts";
import { diffCheckpoints, differs } from "./diff.ts";
import { diffText } from "./diff-text.ts";
import { inspect } from "./inspect.ts";
import { type PruneOptions, prune } from "./prune.ts";
import { verify } from "./verify.ts";

/** `espalier checkpoint inspect | verify | diff | prune`. */
export function registerCheckpoint(program: Command): void {
  const checkpoint = program
    .command("checkpoint")
    .description("checkpoints: look into, verify, compare and remove them");

  checkpoint
    .command("inspect")
    .description("what a checkpoint holds, or which checkpoints a directory does")
    .argument("<path>", "a checkpoint, or a directory of checkpoints")
    .option("--json", "print JSON")
    .action(async (path: string, options: { readonly json?: boolean }) => {
      console.log(await inspect(path, options.json === true));
    });

  checkpoint
    .command("verify")
    .description("read every byte and say what is damaged; exit code 1 if anything is")
    .argument("<path>", "a checkpoint, or a directory of checkpoints")
    .action(async (path: string) => {
      const { text, damaged } = await verify(path);
      console.log(printableText(text));
      if (damaged > 0) process.exitCode = 1;
    });

  checkpoint
    .command("diff")
    .description(
      "compare two checkpoints bit for bit; exit code 1 if they differ, 2 if they cannot be compared",
    )
    .argument("<a>", "a checkpoint")
    .argument("<b>", "another one")
    .option("--ignore <components...>", "leave these out, such as time, which no two runs share")
    .option("--json", "print JSON")
    .action(
      async (
        a: string,
        b: string,
        options: { readonly ignore?: readonly string[]; readonly json?: boolean },
      ) => {
        process.exitCode = 2; // stays so if this throws
        const found = await diffCheckpoints(a, b, options.ignore);
        console.log(options.json ? JSON.stringify(found, null, 2) : printableText(diffText(found)));
        process.exitCode = found.some(differs) ? 1 : 0;
      },
    );

  checkpoint
    .command("prune")
    .description("remove the checkpoints of a directory that no rule keeps; the newest always stays")
    .argument("<store>", "a directory of checkpoints")
    .option("--last <k>", "keep the last so many")
    .option(
      "--best <metric:min|max:k>",
      "keep the best so many by a metric or score, such as validation/loss:min:2",
    )
    .option("--every <unit:n>", "keep the first of each such stretch, such as epochs:10")
    .option("--dry-run", "say what would be removed, and remove nothing")
    .action(async (path: string, options: PruneOptions) => {
      console.log(printableText(await prune(path, options)));
    });
}
