import { dirname, join } from "node:path";
import { amountText, countText, numberText, printable } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import type { Style } from "../terminal.ts";
import { durationText, headedTable } from "../text.ts";
import { matching, telling } from "./choose-metrics.ts";
import { outcomeText, type RunSummary } from "./list.ts";
import { readShown, type Shown } from "./show.ts";

const MOST_METRICS = 12;

/** Runs side by side: each list has a value for each run, undefined where it has none. */
export type Comparison = Awaited<ReturnType<typeof readComparison>>;

export async function readComparison(
  store: StatsStore,
  asked: readonly string[],
  { now, metric }: { readonly now: number; readonly metric?: readonly string[] },
) {
  const rows = await Promise.all(asked.map((run) => store.run(run)));
  const own = await Promise.all(rows.map(({ id }) => store.metrics(id)));
  const all = [...new Map(own.flat().map((each) => [each.key, each])).values()];
  const chosen = metric ? matching(all, metric) : telling(all).slice(0, MOST_METRICS);
  const keys = chosen.map(({ key }) => key);
  const shown: Shown[] = [];
  for (const [i, { id }] of rows.entries()) {
    const has = new Set(own[i]?.map(({ key }) => key));
    shown.push(await readShown(store, id, { now, metric: keys.filter((key) => has.has(key)) }));
  }
  const scores = shown.map(
    ({ evaluations }) =>
      new Map(
        evaluations.flatMap(({ name, scores }) =>
          Object.entries(scores).map(([score, value]) => [`${name} ${score}`, value] as [string, number]),
        ),
      ),
  );
  const settings = await Promise.all(shown.map(({ run }) => settingsOf(run, store.location)));
  return {
    runs: shown.map(({ run }) => run),
    metrics: keys.map((key) => {
      const direction = directionOf(key);
      const values = shown.map(({ curves }) => {
        const curve = curves.find((each) => each.key === key);
        return curve && { last: curve.last, best: curve[direction] };
      });
      return { key, direction, values };
    }),
    evaluations: namesOf(scores).map((key) => ({ key, values: scores.map((each) => each.get(key)) })),
    configuration: namesOf(settings)
      .map((path) => ({ path, values: settings.map((each) => each.get(path)) }))
      .filter(({ values }) => new Set(values).size > 1),
  };
}

const namesOf = (maps: readonly ReadonlyMap<string, unknown>[]): readonly string[] => [
  ...new Set(maps.flatMap((map) => [...map.keys()])),
];

/** The better direction of a metric, by its name. */
const directionOf = (key: string): "min" | "max" =>
  /loss|error|perplexity|divergence|mae$|mse$|kl$|seconds|bytes/i.test(key) ? "min" : "max";

/** The settings of a run: its directory is beside a store that is a file. */
async function settingsOf(run: RunSummary, location: string): Promise<ReadonlyMap<string, string>> {
  const { runSettings } = await import("../../config/index.ts");
  return runSettings(
    location.includes("://") ? undefined : join(dirname(location), run.id, "config.yaml"),
    run.config,
  );
}

export function compareText(compared: Comparison, { colors }: Pick<Style, "colors">): readonly string[] {
  const { runs, metrics, evaluations, configuration } = compared;
  const pair = runs.length === 2;
  const numbers = (values: readonly (number | undefined)[]): readonly string[] => {
    const [a, b] = values;
    const difference = pair ? [a === undefined || b === undefined ? "" : signed(b - a)] : [];
    return [...values.map((value) => (value === undefined ? "" : numberText(value))), ...difference];
  };
  const facts: readonly (readonly string[])[] = [
    ["outcome", ...runs.map(outcomeText)],
    ["duration", ...runs.map(({ duration }) => durationText(duration))],
    ...["epochs", "updates", "samples", "steps"]
      .filter((unit) => runs.some(({ counters }) => counters[unit]))
      .map((unit) => [unit, ...runs.map(({ counters }) => countText(counters[unit] ?? 0))]),
  ];
  const rows: readonly (readonly string[])[] = [
    ...facts,
    ...metrics.flatMap(({ key, direction, values }) => [
      [key, ...numbers(values.map((value) => value?.last))],
      [`  best (${direction})`, ...numbers(values.map((value) => value?.best))],
    ]),
    ...evaluations.map(({ key, values }) => [key, ...numbers(values)]),
  ];
  const names = runs.map(({ id }) => printable(id));
  return [
    ...headedTable(["", ...names, ...(pair ? ["difference"] : [])], rows, colors),
    "",
    ...(configuration.length === 0
      ? ["their configurations are the same"]
      : [
          colors.bold(`${amountText(configuration.length, "settings")} that differ`),
          ...headedTable(
            ["", ...names],
            configuration.map(({ path, values }) => [path, ...values.map((value) => value ?? "-")]),
            colors,
          ),
        ]),
  ];
}

const signed = (value: number): string => `${value > 0 ? "+" : ""}${numberText(value)}`;
