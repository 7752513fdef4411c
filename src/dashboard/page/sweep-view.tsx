// The tab "Sweep": trials by their result, and how parameters and results go together.
import { useEffect, useState } from "preact/hooks";
import type { RunDetail, Sweep } from "../api.ts";
import { onLive, useApi } from "./client.ts";
import { formatNumber } from "./format.ts";
import { sweepPlot } from "./sweep-plot.ts";
import { Button, Loaded, Table } from "./table.tsx";
import { setView } from "./view.ts";

export function SweepView({ run }: { run: RunDetail }) {
  const answer = useApi<readonly Sweep[]>(run.sweep === undefined ? undefined : "/api/sweeps");
  const { reload } = answer;
  const sweep = answer.data?.find(({ id }) => id === run.sweep);
  useEffect(
    () =>
      onLive("runs", ({ changed }) => {
        const known = new Map(sweep?.trials.map((trial) => [trial.run, trial.state]));
        if (changed.some((one) => one.sweep === run.sweep && known.get(one.id) !== one.state)) reload();
      }),
    [sweep, run.sweep],
  );
  if (run.sweep === undefined) return <p class="note">This run is not a trial of a sweep.</p>;
  return (
    <Loaded answer={answer}>
      {() =>
        sweep ? <Trials sweep={sweep} run={run.id} /> : <p class="note">{`${run.sweep} is not here.`}</p>
      }
    </Loaded>
  );
}

function Trials({ sweep, run }: { sweep: Sweep; run: string }) {
  const [largest, setLargest] = useState(false);
  const { metric, parameters } = sweep;
  const trials = [...sweep.trials].sort((a, b) => {
    if (a.result === null || b.result === null) return Number(a.result === null) - Number(b.result === null);
    return largest ? b.result - a.result : a.result - b.result;
  });
  return (
    <>
      <div class="scroll-x">
        <Plot sweep={sweep} run={run} />
      </div>
      <label class="toolbar">
        Order
        <select
          value={largest ? "largest" : "smallest"}
          onChange={(event) => setLargest(event.currentTarget.value === "largest")}
        >
          <option value="smallest">{`smallest ${metric} first`}</option>
          <option value="largest">{`largest ${metric} first`}</option>
        </select>
      </label>
      <Table
        caption={`Trials of ${sweep.id}`}
        rows={trials}
        keyOf={(trial) => trial.run}
        columns={[
          {
            title: "Trial",
            cell: (trial) =>
              trial.run === run ? (
                <strong>{trial.run}</strong>
              ) : (
                <Button class="link" on={() => setView({ run: trial.run })}>
                  {trial.run}
                </Button>
              ),
          },
          { title: "State", cell: ({ state }) => state },
          {
            title: metric,
            number: true,
            cell: ({ result }) => (result === null ? "" : formatNumber(result)),
          },
          ...parameters.map((name) => ({
            title: name,
            number: true,
            cell: ({ values }: Sweep["trials"][number]) => shortened(values[name] ?? ""),
          })),
        ]}
      />
    </>
  );
}

/** A long number in few digits; words as they are. */
const shortened = (value: string): string =>
  value.length > 8 && Number.isFinite(Number(value)) ? formatNumber(Number(value)) : value;

const [width, height, margin] = [720, 220, 50];

/** Parallel axes: a line for each trial, coloured from the smallest to the largest result. */
function Plot({ sweep, run }: { sweep: Sweep; run: string }) {
  const { axes, lines } = sweepPlot(sweep);
  const x = (axis: number) => margin + (axis * (width - 2 * margin)) / Math.max(1, axes.length - 1);
  const y = (at: number) => 40 + (1 - at) * (height - 60);
  return (
    <svg
      class="parallel"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${lines.length} trials over ${axes.map(({ name }) => name).join(", ")}; the table has the numbers`}
    >
      {lines.map(({ run: trial, at }) => {
        const points = at.flatMap((one, i) => (one === null ? [] : [`${x(i)},${y(one)}`]));
        const result = at.at(-1) ?? 0.5;
        return (
          <polyline
            key={trial}
            points={points.join(" ")}
            class={trial === run ? "own" : undefined}
            style={{ stroke: `color-mix(in oklab, var(--curve-0) ${(1 - result) * 100}%, var(--curve-1))` }}
          >
            <title>{trial}</title>
          </polyline>
        );
      })}
      {axes.map(({ name, ticks }, i) => (
        <g key={name}>
          <line x1={x(i)} x2={x(i)} y1={y(0)} y2={y(1)} />
          <text x={x(i)} y={16} text-anchor="middle">
            {name.length > 18 ? `…${name.slice(-17)}` : name}
          </text>
          {ticks.map(({ label, at }) => (
            <text key={label} x={x(i) + 4} y={y(at) + (at > 0.5 ? -4 : 12)} class="tick">
              {shortened(label)}
            </text>
          ))}
        </g>
      ))}
    </svg>
  );
}
