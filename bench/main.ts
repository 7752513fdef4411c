import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { EspalierError } from "../src/core/index.ts";
import { findPlugins } from "../src/engine/index.ts";
import { type Bench, benches } from "./benches.ts";
import { type Arguments, commandOf, isWhole, readArguments } from "./harness/arguments.ts";
import { chart, comparisonsIn } from "./harness/chart.ts";
import { withSection } from "./harness/docs.ts";
import type { Figure } from "./harness/figure.ts";
import { benchCache, benchmarksPage, chartFile } from "./harness/folders.ts";
import { allHold } from "./harness/judge.ts";
import { busyShare, describeMachine, machineLines, muchBusy } from "./harness/machine.ts";
import { Peers } from "./harness/peers.ts";
import { ensureEngine } from "./harness/plugin.ts";
import type { Report, Result } from "./harness/report.ts";
import { runFigure } from "./harness/run.ts";
import { plainTable, problemLines, tableRows } from "./harness/table.ts";

/** One run of all benches, as `--json` writes it. */
interface Reports {
  readonly command: string;
  readonly date: string;
  readonly reports: readonly Report[];
  /** Benches that gave no report, and why. */
  readonly missing: Readonly<Record<string, string>>;
}

const isAsked = ({ name, engine }: Figure, asked: Arguments): boolean =>
  (asked.engine ?? engine) === engine && name.toLowerCase().includes((asked.only ?? "").toLowerCase());

async function measure(asked: Arguments, bench: Bench): Promise<Report> {
  const { figures } = await bench.load();
  const wanted = figures.filter((figure) => isAsked(figure, asked));
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
  let busiest = 0;
  try {
    for (const [i, figure] of wanted.entries()) {
      const busy = await busyShare();
      busiest = Math.max(busiest, busy);
      if (busy > muchBusy)
        console.error(
          `other programs take ${Math.round(100 * busy)} % of the processors: times will be theirs too`,
        );
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
    machine: describeMachine(engines, peers?.descriptions ?? {}, busiest),
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

/** Every bench in a process of its own, so that none finds what another left. One that fails is noted. */
async function measureAll(asked: Arguments): Promise<Reports> {
  const folder = mkdtempSync(join(tmpdir(), "espalier-bench-"));
  const reports: Report[] = [];
  const missing: Record<string, string> = {};
  const hasGpu = findPlugins().some(({ kind }) => kind === "cuda");
  try {
    for (const [name, { load }] of Object.entries(benches)) {
      if (!(await load()).figures.some((figure) => isAsked(figure, asked))) continue;
      if (name.endsWith("-gpu") && !hasGpu) {
        missing[name] = "there is no CUDA plugin here";
        continue;
      }
      console.error(`\n=== ${name}`);
      const file = join(folder, `${name}.json`);
      const words = [
        ...(asked.peers ? ["--peers"] : []),
        ...(asked.quick ? ["--quick"] : []),
        ...(asked.engine ? ["--engine", asked.engine] : []),
        ...(asked.only === undefined ? [] : ["--only", asked.only]),
      ];
      const args = [...process.execArgv, process.argv[1] ?? "", name, ...words, "--json", file];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
      const [code] = await once(child, "close");
      if (existsSync(file)) reports.push(saved(file, name));
      else missing[name] = `it ended with code ${code}`;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { command: commandOf(asked), date: new Date().toISOString(), reports, missing };
}

/** All reports in one file, their tables in another beside it, and a chart. */
async function runAll(asked: Arguments): Promise<readonly Report[]> {
  const all = asked.from
    ? (JSON.parse(readFileSync(asked.from, "utf8")) as Reports)
    : await measureAll(asked);
  const stem = (asked.json ?? join(benchCache(), "all.json")).replace(/\.json$/, "");
  const page = all.reports.reduce<string | undefined>(withSection, undefined) ?? "";
  mkdirSync(dirname(stem), { recursive: true });
  writeFileSync(`${stem}.json`, `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(`${stem}.md`, page);
  writeFileSync(`${stem}.svg`, chart(comparisonsIn(page)));
  for (const [name, why] of Object.entries(all.missing)) console.log(`${name} is missing: ${why}`);
  console.log(`${all.reports.length} benches: ${stem}.json, ${stem}.md, ${stem}.svg`);
  return all.reports;
}

/** Draws the chart of the README from the tables of docs/benchmarks.md. */
function drawChart(): void {
  writeFileSync(chartFile(), chart(comparisonsIn(readFileSync(benchmarksPage(), "utf8"))));
  console.log(chartFile());
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
  drawChart();
}

async function main(words: readonly string[]): Promise<number> {
  const asked = readArguments(words, [...Object.keys(benches), "all", "chart"]);
  if (asked.bench === "chart") {
    drawChart();
    return 0;
  }
  if (asked.bench === "all") {
    const reports = await runAll(asked);
    if (asked.writeDocs) reports.forEach(writeDocs);
    return asked.check && !reports.every(allHold) ? 1 : 0;
  }
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
