import { checkOptions, node, numberText, type OptionTable, option, tableLines } from "../core/index.ts";
import { slot } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import { latestMetrics, type TrainerHook } from "../trainer/index.ts";
import { type ConfusionMatrix, isSetMetric } from "./metrics.ts";

// Metrics that are tables (the confusion matrix) do not fit a log of numbers. Validation leaves them with the task's
// own hook, which hands them on in a slot; a second hook draws and files them.

/** Tables of a validation by metric, and the counters they belong to. */
export type ValidationTables = {
  readonly tables: Readonly<Record<string, ValidationTable>>;
  readonly counters: Counters;
};

/** Rows are what was, columns what it was taken for. */
export type ValidationTable = {
  readonly rows: readonly (readonly number[])[];
  readonly names: readonly string[];
};

/** The newest validation's tables. Not part of the run's state: the next validation makes them again. */
export const validationTables = slot<ValidationTables>("validation.tables", { saved: false });

/** Puts the tables of a task's validation into the slot. */
export class TableProvider {
  newest:
    | { readonly tables: Readonly<Record<string, ValidationTable["rows"]>>; readonly counters: Counters }
    | undefined;
  /** The hook, where one of the metrics is a table. */
  readonly hooks: readonly TrainerHook[];

  constructor(metrics: Readonly<Record<string, unknown>>) {
    const named = Object.entries(metrics).filter(([, metric]) => isSetMetric(metric) && "names" in metric);
    const namesOf = Object.fromEntries(
      named.map(([name, metric]) => [name, (metric as Partial<ConfusionMatrix>).names]),
    );
    const provide: TrainerHook = {
      name: "validationTables",
      provides: [validationTables],
      onValidationEnd: ({ slots }) => {
        if (!this.newest) return;
        const tables = Object.entries(this.newest.tables).map(([name, rows]) => {
          const names: readonly string[] = namesOf[name] ?? rows.map((_, i) => String(i));
          return [name, { rows, names }];
        });
        slots.set(validationTables, { tables: Object.fromEntries(tables), counters: this.newest.counters });
      },
    };
    this.hooks = named.length > 0 ? [provide] : [];
  }
}

/** Options of {@link confusionMatrixHook}. */
export interface ConfusionMatrixHookOptions {
  /** Files each validation's table in `tables/` of this directory. Default: none are filed. */
  readonly directory?: string;
  /** Draws the last one at the end of the run; false draws none. Default: `process.stdout`. */
  readonly stream?: { write(text: string): unknown } | false;
}

const table = {
  directory: option.text({}),
  stream: option.made<NonNullable<ConfusionMatrixHookOptions["stream"]>>(
    "a stream such as process.stderr, or false",
    (value) => value === false || typeof value === "object",
    {},
  ),
} satisfies OptionTable<ConfusionMatrixHookOptions>;

/**
 * Draws confusion matrices at the end of a run, and files each validation's as
 * `tables/<metric>-update-000120.json`: `{ names, rows, counters }`.
 *
 * @example
 * ```ts
 * hooks: [confusionMatrixHook({ directory: "runs/digits" })],
 * ```
 */
export function confusionMatrixHook(options: ConfusionMatrixHookOptions = {}): TrainerHook {
  checkOptions("confusionMatrixHook", options, table);
  const { directory, stream = globalThis.process?.stdout ?? false } = options;
  let newest: ValidationTables | undefined;
  return {
    name: "confusionMatrix",
    // After the hook that writes metrics, so that it does not draw into its lines.
    wants: [validationTables, latestMetrics],
    onValidationEnd: ({ slots }) => {
      newest = slots.get(validationTables) ?? newest;
      if (newest && directory !== undefined) file(directory, newest);
    },
    onTrainingEnd: () => {
      if (!newest || stream === false) return;
      for (const [name, found] of Object.entries(newest.tables))
        stream.write(`${name} after ${newest.counters.updates} updates\n${drawn(found).join("\n")}\n`);
    },
  };
}

function file(directory: string, { tables, counters }: ValidationTables): void {
  const folder = node.path.join(directory, "tables");
  node.fs.mkdirSync(folder, { recursive: true });
  for (const [name, { names, rows }] of Object.entries(tables)) {
    const path = node.path.join(folder, `${name}-update-${String(counters.updates).padStart(6, "0")}.json`);
    const { seconds: _, ...exact } = counters;
    node.fs.writeFileSync(path, `${JSON.stringify({ names, rows, counters: exact })}\n`);
  }
}

/** A table as lines: classes down, what they were taken for across. */
export function drawn({ names, rows }: ValidationTable): readonly string[] {
  const cells = rows.map((row, i) => [names[i] ?? String(i), ...row.map((count) => numberText(count))]);
  return tableLines([["is \\ taken for", ...names], ...cells], { right: names.map((_, i) => i + 1) });
}
