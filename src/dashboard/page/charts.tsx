// The charts tab: metrics of one or several runs in folding groups, with what they share above.
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MetricSummary, RunDetail } from "../api.ts";
import type { Line } from "./paint.ts";
import { boardOf, type Readout } from "./plots.ts";
import { details } from "./runs.ts";
import { setView, view } from "./view.ts";

/** The runs whose curves are drawn: the one in front and those overlaid, in an order that picking one does not change. */
export function overlaid(): readonly string[] {
  const { run, runs } = view.value;
  return run === undefined || runs.includes(run) ? runs : [run, ...runs];
}

export function ChartsView(_: { readonly run: RunDetail }) {
  useChartKeys();
  const shown = overlaid().flatMap((id) => details.value.get(id) ?? []);
  const filter = useComputed(() => view.value.metricFilter.toLowerCase()).value;
  const groups = groupMetrics(shown);
  const found = groups
    .map(
      ([category, group]) =>
        [category, group.filter(({ key }) => key.toLowerCase().includes(filter))] as const,
    )
    .filter(([, group]) => group.length > 0);
  return (
    <>
      <Toolbar />
      <Legend runs={shown} />
      {groups.length === 0 && (
        <p class="note">No numbers are filed yet. Charts appear with the first metric that the run logs.</p>
      )}
      {groups.length > 0 && found.length === 0 && (
        <p class="note">
          No metric has “{filter}” in its name.{" "}
          <button type="button" onClick={() => setView({ metricFilter: "" })}>
            Show all
          </button>
        </p>
      )}
      {found.map(([category, group]) => (
        <Group key={category} category={category} metrics={group} />
      ))}
    </>
  );
}

/** A metric of any of the runs, with a curve for each run that has it. */
interface SharedMetric extends MetricSummary {
  readonly lines: readonly Line[];
}

function groupMetrics(shown: readonly RunDetail[]): readonly (readonly [string, readonly SharedMetric[]])[] {
  const groups = new Map<string, Map<string, SharedMetric>>();
  for (const [colour, { id, name, startedAt, metrics }] of shown.entries())
    for (const metric of metrics) {
      // Texts have no curve.
      if (metric.last === undefined) continue;
      const group = groups.get(metric.category) ?? new Map<string, SharedMetric>();
      groups.set(metric.category, group);
      const others = group.get(metric.key)?.lines ?? [];
      const line = { run: id, key: metric.key, label: name, colour, startedAt, hides: true };
      group.set(metric.key, { ...metric, lines: [...others, line] });
    }
  const order = [...first, ...[...groups.keys()].filter((one) => !first.includes(one)).sort()];
  return order.flatMap((category) => {
    const group = groups.get(category);
    return group ? [[category, [...group.values()]] as const] : [];
  });
}

/** Categories that people look for come before the others. */
const first: readonly string[] = ["train", "validation", "evaluation", "rollout"];

function Toolbar() {
  const board = boardOf(view.value.axis);
  const { axis, log, smoothing, metricFilter, zoom } = view.value;
  return (
    <fieldset class="toolbar" aria-label="Charts">
      <input
        type="search"
        aria-label="Filter metrics"
        placeholder="Filter metrics (/)"
        value={metricFilter}
        onInput={(event) => setView({ metricFilter: event.currentTarget.value })}
      />
      <label>
        Axis{" "}
        <select
          value={axis}
          onChange={(event) =>
            setView({ axis: event.currentTarget.value === "time" ? "time" : "step", zoom: undefined })
          }
        >
          <option value="step">step</option>
          <option value="time">time since the start</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={log} onChange={() => setView({ log: !log })} /> Log scale
      </label>
      <label class="slider">
        Smoothing{" "}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smoothing}
          onInput={(event) => setView({ smoothing: Number(event.currentTarget.value) })}
        />
        <output>{smoothing.toFixed(2)}</output>
      </label>
      <fieldset class="buttons" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => board.shift(0, 0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => board.shift(0, 2)}>
          −
        </button>
        <button type="button" disabled={!zoom} onClick={() => setView({ zoom: undefined }, true)}>
          Reset zoom
        </button>
      </fieldset>
    </fieldset>
  );
}

function Legend({ runs }: { readonly runs: readonly RunDetail[] }) {
  const { hidden, run: front } = view.value;
  return (
    <fieldset class="legend" aria-label="Runs in the charts">
      {runs.map((run, colour) => {
        const off = hidden.includes(run.id);
        const next = off ? hidden.filter((id) => id !== run.id) : [...hidden, run.id];
        return (
          <button
            type="button"
            key={run.id}
            aria-pressed={!off}
            title={off ? "Show its curves" : "Hide its curves"}
            class={run.id === front ? "front" : ""}
            onClick={() => setView({ hidden: next })}
          >
            <Swatch colour={colour} /> {run.name} <small>{run.id}</small>
          </button>
        );
      })}
    </fieldset>
  );
}

const Swatch = ({ colour }: { readonly colour: number }) => (
  <span
    class={colour < 8 ? "swatch" : "swatch dashed"}
    style={{ color: `var(--curve-${colour % 8})` }}
    aria-hidden="true"
  />
);

function Group({
  category,
  metrics,
}: {
  readonly category: string;
  readonly metrics: readonly SharedMetric[];
}) {
  const folded = useComputed(() => view.value.folded).value;
  const open = !folded.includes(category);
  const next = open ? [...folded, category] : folded.filter((one) => one !== category);
  return (
    <section aria-label={category}>
      <h3>
        <button type="button" class="fold" aria-expanded={open} onClick={() => setView({ folded: next })}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> {category} <small>{metrics.length}</small>
        </button>
      </h3>
      {open && (
        <div class="charts">
          {metrics.map(({ key, name, unit, axis, lines }) => (
            <Chart key={key} title={key} heading={name} unit={unit} axis={axis} lines={lines} />
          ))}
        </div>
      )}
    </section>
  );
}

/** One chart with a curve for each metric of each run, for views that show metrics beside other things. */
export function MetricChart({ runs: ids, keys, title }: MetricChartProps) {
  const found = ids.flatMap((id) => details.value.get(id) ?? []);
  const metrics = found.flatMap((run) => run.metrics.filter(({ key }) => keys.includes(key)));
  const lines = found.flatMap((run) =>
    keys.map((key) => ({
      run: run.id,
      key,
      label: found.length > 1 ? `${run.name} ${key}` : key,
      startedAt: run.startedAt,
      hides: false,
    })),
  );
  const coloured = lines.map((line, colour) => ({ ...line, colour }));
  return (
    <Chart
      title={title}
      heading={title}
      unit={metrics[0]?.unit}
      axis={metrics[0]?.axis ?? "steps"}
      lines={coloured}
    />
  );
}

interface MetricChartProps {
  readonly runs: readonly string[];
  readonly keys: readonly string[];
  readonly title: string;
}

interface ChartProps {
  readonly title: string;
  readonly heading: string;
  readonly unit: string | undefined;
  readonly axis: string;
  readonly lines: readonly Line[];
}

function Chart({ title, heading, unit, axis, lines }: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const [readout, onReadout] = useState<readonly Readout[]>([]);
  const [notFinite, onNotFinite] = useState(0);
  const board = boardOf(useComputed(() => view.value.axis).value);
  // Lines are made anew at each rendering: only others than before need another plot.
  const same = JSON.stringify(lines);
  useEffect(() => {
    return element.current
      ? board.add(element.current, { title, axis, lines, onReadout, onNotFinite })
      : undefined;
  }, [board, same]);
  return (
    <article class="chart">
      <h4 title={title}>
        {heading} {unit && <small>{unit}</small>}
        {notFinite > 0 && <span class="bad"> × {notFinite} not finite</span>}
      </h4>
      <p class="readout" aria-hidden="true">
        {readout.map(({ line, at, value }, i) => (
          <span key={`${line.run} ${line.key}`} title={line.label}>
            {i === 0 && <small>{at}</small>} {lines.length > 1 && <Swatch colour={line.colour} />}{" "}
            <b>{value}</b>
          </span>
        ))}
      </p>
      <div
        class="plot"
        role="img"
        aria-label={title}
        data-key={[...new Set(lines.map((line) => line.key))].join(" ")}
        ref={element}
      />
    </article>
  );
}

/** Keys of the charts tab, while nothing is typed in: arrows move, + and - zoom, and the rest as the help lists. */
function useChartKeys(): void {
  useEffect(() => {
    const act = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const { smoothing, axis, log } = view.peek();
      const board = boardOf(axis);
      const actions: Record<string, () => void> = {
        ArrowLeft: () => board.shift(-0.1),
        ArrowRight: () => board.shift(0.1),
        "+": () => board.shift(0, 0.5),
        "-": () => board.shift(0, 2),
        r: () => setView({ zoom: undefined }, true),
        a: () => setView({ axis: axis === "step" ? "time" : "step", zoom: undefined }),
        y: () => setView({ log: !log }),
        s: () => setView({ smoothing: Math.min(0.99, Math.round((smoothing + 0.1) * 100) / 100) }),
        S: () => setView({ smoothing: Math.max(0, Math.round((smoothing - 0.1) * 100) / 100) }),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", act);
    return () => removeEventListener("keydown", act);
  }, []);
}

/** True for keys that belong to a field, a dialog or the browser. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : undefined;
  const inField = target?.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]");
  return event.ctrlKey || event.metaKey || event.altKey || inField != null;
}
