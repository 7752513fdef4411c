/**
 * A report: the page as one HTML file, with the answers that it would ask the server for. It works without a server and
 * without a network.
 */
import { readFileSync } from "node:fs";
import { EspalierError } from "../core/index.ts";
import type { CheckpointSummary, Hooks, ReplaySummary, RunDetail, Session } from "./api.ts";
import { pageDirectory } from "./page-files.ts";
import { answerTo } from "./routes.ts";
import { Runs, type RunsOptions, summaryOf } from "./runs.ts";
import { inside, pathSegments } from "./safety.ts";

/** Recorded episodes that are shown, the newest. */
const MOST_FILMS = 5;

export interface ReportOptions extends RunsOptions {
  /** The directory of the page's files. Default: the built page. */
  readonly page?: string;
}

/** The report of a run, which is named by its id, the beginning of it, or its name: a document of HTML. */
export async function makeReport(
  run: string,
  { page = pageDirectory(), ...options }: ReportOptions,
): Promise<{ readonly id: string; readonly text: string }> {
  const runs = await Runs.open(options);
  try {
    const id = await runs.find(run);
    return { id, text: withAnswers(page, await answersAbout(id, runs)) };
  } finally {
    await runs.close();
  }
}

/** Everything that the page asks for about a run, by path. */
async function answersAbout(id: string, runs: Runs): Promise<Readonly<Record<string, unknown>>> {
  const answers: Record<string, unknown> = {};
  const ask = async <T>(address: string): Promise<T> => {
    const { path, query } = pathSegments(address);
    const answer = await answerTo(runs, { method: "GET", path, query, body: undefined, control: false });
    answers[address] = answer;
    return answer as T;
  };
  /** What one part of a run refuses is no reason to have no report: the page says that it is not there. */
  const tryToAsk = (address: string): Promise<unknown> =>
    ask(address).catch((error: unknown) => {
      if (!(error instanceof EspalierError)) throw error;
    });
  const own = `/api/runs/${encodeURIComponent(id)}`;
  // Where this machine has its files is nobody else's business.
  const session = await ask<Session>("/api/session");
  answers["/api/session"] = { ...session, store: "", directory: "" } satisfies Session;
  answers["/api/runs"] = [summaryOf(runs, await runs.row(id))];
  const { control: _, ...known } = await ask<RunDetail>(own);
  const detail = { ...known, answers: [] };
  answers[own] = detail;
  for (const axis of ["step", "time"])
    for (const { key } of detail.metrics)
      await ask(`/api/series?${new URLSearchParams({ axis, run: id, key })}`);
  for (const kind of ["evaluation", "intervention"]) await ask(`${own}/events?kind=${kind}`);
  const { hooks } = await ask<Hooks>(`${own}/hooks`);
  for (const { name } of hooks) await tryToAsk(`${own}/why?hook=${encodeURIComponent(name)}`);
  await ask(`${own}/log`);
  for (const { name } of await ask<readonly CheckpointSummary[]>(`${own}/checkpoints`))
    await tryToAsk(`${own}/checkpoints/${encodeURIComponent(name)}`);
  const replays = await ask<readonly ReplaySummary[]>(`${own}/replays`);
  for (const { name } of replays.slice(0, MOST_FILMS))
    await tryToAsk(`${own}/replays/${encodeURIComponent(name)}`);
  if (detail.sweep !== undefined) await ask("/api/sweeps");
  return answers;
}

/** Nothing may be loaded from anywhere: what the report needs is in it. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** The page's document with its script and style in it, and answers that the page takes instead of asking. */
function withAnswers(page: string, answers: Readonly<Record<string, unknown>>): string {
  const read = (name: string): string => {
    const path = inside(page, ...name.split("/").filter((part) => part !== "."));
    if (path === undefined) throw new EspalierError("DASHBOARD_NOT_FOUND", `the page has no ${name}`);
    return readFileSync(path, "utf8");
  };
  // No name of a run, a metric or a hook can end the script: `<` stands in it as an escape.
  const own = `<script>window.__ESPALIER_REPORT__=${JSON.stringify(answers).replaceAll("<", "\\u003c")}</script>`;
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  return read("index.html")
    .replace(/<link\b[^>]*\brel="stylesheet"[^>]*>/g, (link) => {
      const name = /\bhref="([^"]+)"/.exec(link)?.[1] ?? "";
      return `<style>${read(name).replaceAll("</style", "<\\/style")}</style>`;
    })
    .replace(
      /<script\b[^>]*\bsrc="([^"]+)"[^>]*><\/script>/g,
      (_, name: string) =>
        `<script type="module">${read(name).replaceAll("</script", "<\\/script")}</script>`,
    )
    .replace("<head>", (head) => head + meta + own);
}
