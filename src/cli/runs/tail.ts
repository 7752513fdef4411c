import { cut, EspalierError, numberText, printable } from "../../core/index.ts";
import type { MetricRow, RunRow, StatsStore } from "../../metrics/index.ts";
import { option, type Values } from "../options.ts";
import type { Style, Surroundings } from "../terminal.ts";
import { ageText, jsonText, timeText } from "../text.ts";
import { byInterest, fitsPattern, matching } from "./choose-metrics.ts";
import { isSilent } from "./list.ts";
import { numberOf } from "./show.ts";

/** Rows of what came last that are looked at first, and lines that are printed of them. */
const LATELY = 200;
const LATELY_LINES = 10;
const PAGE = 1000;

export const tailOptions = {
  metric: option.metrics(),
  interval: option.number("<seconds>", "how often to look", { min: 0.05, max: 86_400, default: 1 }),
  json: option.json("print each value as a line of JSON, and how the run ended as the last"),
};

/** Prints the newest metrics, and those that come, until the run has ended or the reader has gone. */
export async function tail(
  store: StatsStore,
  asked: string,
  { metric, interval, json = false }: Values<typeof tailOptions>,
  style: Style,
  { out, err, clock, pause, interrupts }: Surroundings,
): Promise<void> {
  const { signal: interrupted, stop } = interrupts();
  const over = AbortSignal.any([interrupted, out.gone]);
  const wanted = metric?.map(fitsPattern);
  const say = once((text) => err.write(`${text}\n`));
  try {
    const found = await store.run(asked);
    if (metric) await checkMetrics(store, found, metric, say);
    let place = await lastPlace(store, found.id, LATELY);
    let lastSign = found.startedAt;
    let most = LATELY_LINES;
    while (!over.aborted) {
      const news = await look(store, found.id, place);
      await say("away", news ? undefined : `${store.location} cannot be reached; waiting until it can`);
      if (news) {
        const { run, rows } = news;
        place = news.next;
        const chosen = wanted ? rows.filter((row) => wanted.some((fits) => fits(row))) : rows;
        const lines = (json ? chosen.map((row) => jsonText(row, 0)) : tailLines(chosen, style)).slice(-most);
        most = Number.POSITIVE_INFINITY;
        if (lines.length > 0) await out.write(`${lines.join("\n")}\n`);
        if (rows.length === PAGE) continue;
        if (run.outcome !== "running") return await out.write(`${endText(run, json)}\n`);
        lastSign = Math.max(lastSign, run.heartbeat ?? 0, ...rows.map(({ wall }) => wall));
        const now = clock.wall();
        const silent = isSilent({ outcome: run.outcome, lastSign }, now);
        await say("silent", silent ? silenceText(now - lastSign) : undefined);
      }
      await pause(1000 * interval, over);
    }
  } finally {
    stop();
  }
}

/** The state of a run and its new metrics; undefined where its store cannot be reached now. */
async function look(store: StatsStore, id: string, place: number) {
  try {
    // First how it is: whatever it filed before it ended is then among the rows.
    const run = await store.run(id);
    return { run, ...(await store.since(id, place, PAGE)) };
  } catch (error) {
    if (error instanceof EspalierError && error.code === "STATS_UNAVAILABLE") return undefined;
    throw error;
  }
}

type Say = (about: string, text: string | undefined) => Promise<void>;

/** Says something when it begins, not as long as it lasts. */
function once(write: (text: string) => Promise<void>): Say {
  const said = new Set<string>();
  return async (about, text) => {
    if (text === undefined) said.delete(about);
    else if (!said.has(about)) {
      said.add(about);
      await write(text);
    }
  };
}

/** Refuses metrics that the run does not have. Of a run that goes on they may still come: then it warns. */
async function checkMetrics(
  store: StatsStore,
  run: RunRow,
  asked: readonly string[],
  say: Say,
): Promise<void> {
  const metrics = await store.metrics(run.id);
  try {
    matching(metrics, asked);
  } catch (error) {
    if (run.outcome !== "running" || !(error instanceof EspalierError)) throw error;
    await say("metrics", `not yet: ${error.message.split("\n")[0]}`);
  }
}

const silenceText = (age: number): string =>
  `no sign of the run for ${ageText(age)}: its process may be gone. Ctrl-C ends this`;

function endText({ outcome, reason }: RunRow, json: boolean): string {
  if (json) return jsonText({ outcome, reason }, 0);
  return `the run has ended: ${outcome}${reason ? `, ${printable(reason.split("\n")[0] ?? "", 1000)}` : ""}`;
}

const MOST_VALUES = 8;

/** A line for all values of one category that were filed together: `12:03:45  train  updates 1200  loss 0.5`. */
function tailLines(rows: readonly MetricRow[], { colors }: Pick<Style, "colors">): readonly string[] {
  const groups = new Map<string, MetricRow[]>();
  for (const row of rows) {
    const where = JSON.stringify([row.wall, row.category, row.axis, row.step]);
    const group = groups.get(where);
    if (group) group.push(row);
    else groups.set(where, [row]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const shown = byInterest(group).slice(0, MOST_VALUES);
    const more = group.length - shown.length;
    return [
      [
        colors.dim(timeText(first.wall)),
        printable(first.category),
        colors.dim(`${printable(first.axis)} ${first.step}`),
        ...shown.map((row) => `${printable(row.name)} ${valueText(row)}`),
        ...(more > 0 ? [`and ${more} more`] : []),
      ].join("  "),
    ];
  });
}

function valueText(row: MetricRow): string {
  const value = numberOf(row);
  return value === undefined ? cut(printable(row.text ?? ""), 60, "...") : numberText(value, { digits: 5 });
}

/**
 * A place in what came of a run after which there are fewer than `rows` rows. Places only grow, and stores find one
 * quickly: so this asks some dozens of times instead of reading all that came before.
 */
export async function lastPlace(
  store: Pick<StatsStore, "since">,
  run: string,
  rows: number,
): Promise<number> {
  const isNear = async (place: number): Promise<boolean> =>
    (await store.since(run, place, rows)).rows.length < rows;
  let near = 0;
  let far = -1;
  while (!(await isNear(near))) {
    far = near;
    near = Math.max(1, near * 2);
  }
  while (near - far > 1) {
    const middle = far + Math.floor((near - far) / 2);
    if (await isNear(middle)) near = middle;
    else far = middle;
  }
  return near;
}
