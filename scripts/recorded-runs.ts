// Compares what training computes with what an earlier commit computed: `npm run check:runs`. Each run of
// `recorded/runs.ts` is trained in one go, and from the checkpoint that the earlier commit took in its middle; both must
// end in the recorded hashes. Exit code 1 where one does not.
//
//   --engine NAME     one engine alone
//   --runs A,B        these runs alone
//   --record COMMIT   records hashes and checkpoints instead, as those of COMMIT, whose sources must be checked out
import { parseArgs } from "node:util";
import { advice, baselinesOf, differences, engines, recordRuns } from "./recorded/check.ts";
import { endStateOf } from "./recorded/train.ts";

const { values } = parseArgs({
  options: { record: { type: "string" }, engine: { type: "string" }, runs: { type: "string" } },
});

if (values.record) await recordRuns(values.record, console.log);
else {
  let failed = 0;
  for (const engine of engines().filter((name) => !values.engine || name === values.engine))
    for (const { run, end, checkpoint, compares } of await baselinesOf(engine)) {
      if (values.runs && !values.runs.split(",").includes(run.name)) continue;
      for (const [way, from] of [
        ["in one go", undefined],
        ["from its old checkpoint", checkpoint],
      ] as const) {
        const present = await endStateOf(run, engine, from);
        const differing = compares.flatMap((what) => differences(end, present, what));
        if (differing.length > 0) failed++;
        console.log(
          `${run.name} on ${engine}, ${way}: ${differing.length === 0 ? "the same" : advice(differing)}`,
        );
      }
    }
  process.exitCode = failed > 0 ? 1 : 0;
}
