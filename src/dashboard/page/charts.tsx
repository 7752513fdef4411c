// Charts: a metric of one or several runs each, in folding groups by category, with what they share above.
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MetricSummary, RunDetail } from "../api.ts";
import { Button, Check, Field, Mark, Select } from "./elements.tsx";
import { type Line, plotIn, shiftZoom } from "./plots.ts";
import { details } from "./runs.ts";
import { inOrder } from "./series.ts";
import { overlaid, setView, toggled, type View, view } from "./view.ts";

export function ChartsView(_: { readonly run: RunDetail }) {
  const filter = useComputed(() => view.value.metricFilter.toLowerCase()).value;
  return (
    <>
      <Toolbar />
      <MetricCharts
        fits={(key) => key.toLowerCase().includes(filter)}
        empty={
          filter === ""
            ? "Charts appear with the first metric that the run logs."
            : "No metric fits the filter."
        }
      />
    </>
  );
}

/** Charts of the metrics that fit, of the run in front and those overlaid; `empty` where there are none. */
export function MetricCharts({ fits, empty }: { fits: (key: string) => boolean; empty: string }) {
  const shown = overlaid.value.flatMap((id) => details.value.get(id)?.data ?? []);
  const found = sharedMetrics(shown).filter(({ key }) => fits(key));
  return (
    <>
      <Legend runs={shown} />
      {found.length === 0 && (
        <p class="note">
          {shown.every(({ isFiled }) => isFiled)
            ? empty
            : "This run files nothing in the stats store: its metrics are in metrics.jsonl, in its directory."}
        </p>
      )}
      {inOrder(new Set(found.map(({ category }) => category))).map((category) => (
        <Group
          key={category}
          category={category}
          metrics={found.filter((one) => one.category === category)}
        />
      ))}
    </>
  );
}

/** A metric of any of the runs, with a curve for each run that has it. */
interface SharedMetric extends MetricSummary {
  readonly lines: readonly Line[];
}

function sharedMetrics(shown: readonly RunDetail[]): readonly SharedMetric[] {
  const found = new Map<string, SharedMetric>();
  for (const [colour, { id, name, startedAt, metrics }] of shown.entries())
    for (const metric of metrics) {
      // Texts have no curve.
      if (metric.last === undefined) continue;
      const others = found.get(metric.key)?.lines ?? [];
      const line = { run: id, label: name, colour, startedAt };
      found.set(metric.key, { ...metric, lines: [...others, line] });
    }
  return [...found.values()].sort((a, b) => naturally.compare(a.key, b.key));
}

/** layer.9 before layer.10. */
const naturally = new Intl.Collator("en", { numeric: true });

const axes = [
  ["step", "step"],
  ["time", "time since the start"],
] as const;

function Toolbar() {
  const { axis, log, smoothing, metricFilter, zoom } = view.value;
  return (
    <fieldset class="toolbar" aria-label="Charts">
      <input
        type="search"
        aria-label="Filter metrics"
        size={30}
        placeholder="Filter metrics (/)"
        value={metricFilter}
        onInput={(event) => setView({ metricFilter: event.currentTarget.value })}
      />
      <Select label="Axis" value={axis} options={axes} on={changeAxis} />
      <Check label="Log scale" checked={log} on={(on) => setView({ log: on })} />
      <Field
        label="Smoothing"
        type="range"
        min="0"
        max="0.99"
        step="0.01"
        value={smoothing}
        on={(text) => setView({ smoothing: Number(text) })}
      />
      <output>{smoothing.toFixed(2)}</output>
      <Button text="+" aria-label="Zoom in" on={() => shiftZoom(0, 0.5)} />
      <Button text="−" aria-label="Zoom out" on={() => shiftZoom(0, 2)} />
      <Button text="Reset zoom" disabled={!zoom} on={() => setView({ zoom: undefined }, true)} />
    </fieldset>
  );
}

function Legend({ runs }: { readonly runs: readonly RunDetail[] }) {
  const { hidden, run: front } = view.value;
  return (
    <fieldset class="legend" aria-label="Runs in the charts">
      {runs.map(({ id, name }, colour) => (
        <button
          type="button"
          key={id}
          aria-pressed={!hidden.includes(id)}
          title="Show or hide its curves"
          class={id === front ? "front" : ""}
          onClick={() => setView({ hidden: toggled(hidden, id) })}
        >
          <Mark color={`var(--curve-${colour % 8})`} dashed={colour >= 8} /> <bdi>{name}</bdi>{" "}
          <small>{id}</small>
        </button>
      ))}
    </fieldset>
  );
}

function Group({ category, metrics }: { category: string; metrics: readonly SharedMetric[] }) {
  const folded = useComputed(() => view.value.folded).value;
  const open = !folded.includes(category);
  const onToggle = (event: { readonly currentTarget: HTMLDetailsElement }) => {
    if (event.currentTarget.open !== open) setView({ folded: toggled(folded, category) });
  };
  return (
    <details open={open} aria-label={category} onToggle={onToggle}>
      <summary>
        {category} ({metrics.length})
      </summary>
      {/* What is folded away asks for nothing. */}
      <div class="charts">{open && metrics.map((metric) => <Chart key={metric.key} metric={metric} />)}</div>
    </details>
  );
}

function Chart({ metric: { key, name, unit, axis, lines } }: { readonly metric: SharedMetric }) {
  const [element, readout] = [useRef<HTMLDivElement>(null), useRef<HTMLParagraphElement>(null)];
  const [notFinite, onNotFinite] = useState(0);
  const over = useComputed(() => view.value.axis).value;
  // Lines are made anew at each rendering: only others than before need another plot.
  const same = JSON.stringify(lines);
  useEffect(() => {
    if (!element.current || !readout.current) return undefined;
    return plotIn(element.current, { key, axis, lines, readout: readout.current, onNotFinite });
  }, [over, same]);
  return (
    <div class="chart">
      <h4 title={key}>
        {name} {unit && <small>{unit}</small>}
        {notFinite > 0 && <span class="bad"> × {notFinite} not finite</span>}
      </h4>
      <p class="readout" aria-hidden="true" ref={readout} />
      <div class="plot" role="img" aria-label={key} data-key={key} ref={element} />
    </div>
  );
}

/** Keys of the charts tab: the key, what it does, and doing it. */
export const shortcutsOfCharts = [
  ["ArrowLeft", "charts: move to the left", () => shiftZoom(-0.1)],
  ["ArrowRight", "charts: move to the right", () => shiftZoom(0.1)],
  ["+", "charts: zoom in", () => shiftZoom(0, 0.5)],
  ["-", "charts: zoom out", () => shiftZoom(0, 2)],
  ["r", "charts: show everything again", () => setView({ zoom: undefined }, true)],
  ["a", "charts: over steps or time", () => changeAxis(view.peek().axis === "step" ? "time" : "step")],
  ["y", "charts: log scale", () => setView({ log: !view.peek().log })],
  ["s", "charts: smooth more", () => smoothBy(0.1)],
  ["S", "charts: smooth less", () => smoothBy(-0.1)],
] as const;

const changeAxis = (axis: View["axis"]) => setView({ axis, zoom: undefined });

const smoothBy = (by: number) =>
  setView({ smoothing: Math.min(0.99, Math.max(0, Math.round((view.peek().smoothing + by) * 100) / 100)) });
