import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { EspalierError } from "../src/core/index.ts";
import { type Bench, benches } from "./benches.ts";
import { type Arguments, commandOf, isWhole, readArguments } from "./harness/arguments.ts";
import { withSection } from "./harness/docs.ts";
import { benchmarksPage } from "./harness/folders.ts";
import { allHold } from "./harness/judge.ts";
import { describeMachine, machineLines } from "./harness/machine.ts";
import { Peers } from "./harness/peers.ts";
import { ensureEngine } from "./harness/plugin.ts";
import type { Report, Result } from "./harness/report.ts";
import { runFigure } from "./harness/run.ts";
import { plainTable, problemLines, tableRows } from "./harness/table.ts";

async function measure(asked: Arguments, bench: Bench): Promise<Report> {
  const { figures } = await bench.load();
  const wanted = figures.filter(
    ({ name, engine }) =>
      (asked.engine ?? engine) === engine && name.toLowerCase().includes((asked.only ?? "").toLowerCase()),
  );
  if (wanted.length === 0)
    throw new EspalierError("BENCH_ARGUMENT", `no figure of ${asked.bench} is asked for`, {
      fix: `they are: ${figures.map(({ name, engine }) => `${engine}: ${name}`).join("; ")}`,
    });
  const engines = [...new Set(wanted.map(({ engine }) => engine))].filter((engine) => engine !== "host");
  if (engines.includes("xla")) await ensureEngine();
  const peers = asked.peers ? new Peers() : undefined;
  const rounds = asked.quick ? 3 : 11;
  if (asked.quick) console.error("quick: fewer, shorter rounds, and 20,000 steps where 100,000 are named");
  const results: Result[] = [];
  try {
    for (const [i, figure] of wanted.entries()) {
      console.error(`[${i + 1}/${wanted.length}] ${figure.engine}: ${figure.name}`);
      results.push(
        await runFigure(figure, { peers, rounds, quick: asked.quick, batchSeconds: asked.quick ? 0.1 : 0.3 }),
      );
    }
  } finally {
    await peers?.stop();
  }
  return {
    bench: asked.bench,
    title: bench.title,
    whole: isWhole(asked),
    command: commandOf(asked),
    date: new Date().toISOString(),
    rounds,
    machine: describeMachine(engines, peers?.descriptions ?? {}),
    results,
  };
}

function show(report: Report): void {
  console.log(`\n${report.title}: ${report.command}`);
  console.log(machineLines(report.machine).join("\n"));
  console.log(`\n${plainTable(tableRows(report))}`);
  const problems = problemLines(report);
  if (problems.length > 0) console.log(`\n${problems.join("\n")}`);
}

/** A report that `--json` wrote, here or on another machine. */
function saved(file: string, bench: string): Report {
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  if (report.bench === bench) return report;
  throw new EspalierError("BENCH_ARGUMENT", `${file} is a report of ${report.bench}, not of ${bench}`, {
    fix: `npm run bench -- ${report.bench} --from ${file}`,
  });
}

function writeDocs(report: Report): void {
  if (!report.whole)
    throw new EspalierError(
      "BENCH_ARGUMENT",
      `the report of \`${report.command}\` has not got the whole section`,
      {
        fix: "measure with --peers and without --only, --engine and --quick",
      },
    );
  const page = benchmarksPage();
  writeFileSync(page, withSection(existsSync(page) ? readFileSync(page, "utf8") : undefined, report));
}

async function main(words: readonly string[]): Promise<number> {
  const asked = readArguments(words, Object.keys(benches));
  const report = asked.from
    ? saved(asked.from, asked.bench)
    : await measure(asked, benches[asked.bench] as Bench);
  show(report);
  if (asked.json) writeFileSync(asked.json, `${JSON.stringify(report, null, 2)}\n`);
  if (asked.writeDocs) writeDocs(report);
  return asked.check && !allHold(report) ? 1 : 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (cause: unknown) => {
    console.error(cause instanceof Error ? `bench: ${cause.message}` : cause);
    process.exitCode = 1;
  },
);
