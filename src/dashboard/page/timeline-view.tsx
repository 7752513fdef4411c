// The tab "Time": shares of phases and hooks over the run, and timings of hooks.
import type { Hooks, RunDetail, Series } from "../api.ts";
import { apiOf, type Changes, getSeries, onLive } from "./client.ts";
import { askedAt, Loaded, Mark, Table } from "./elements.tsx";
import { formatNumber } from "./format.ts";
import { isTimed, nestHooks, stackTimes, sum } from "./timeline.ts";
import { type View, view } from "./view.ts";

export function TimeView({ run }: { readonly run: RunDetail }) {
  const keys = run.metrics.map(({ key }) => key).filter(isTimed);
  const { axis } = view.value;
  return (
    <>
      <h3>Shares of time</h3>
      {keys.length === 0 ? (
        <p class="note">No timings were logged: they come every 10 seconds, and once at the end.</p>
      ) : (
        <Loaded
          path={JSON.stringify([run.id, axis, keys])}
          ask={() => askAll(run.id, keys, axis)}
          live={newTimings(run.id)}
        >
          {(series) => <Shares series={series} />}
        </Loaded>
      )}
      <h3>Hooks</h3>
      <Loaded<Hooks> path={apiOf(run.id, "hooks")} live={askedAt(run.id, "decision")}>
        {(data) => <Timings {...data} />}
      </Loaded>
    </>
  );
}

const askAll = async (run: string, keys: readonly string[], axis: View["axis"]): Promise<readonly Series[]> =>
  (await Promise.all(keys.map((key) => getSeries(run, key, { points: "300", axis })))).flatMap(
    (series) => series ?? [],
  );

/** Asks again when the run logs timings: every few seconds. */
const newTimings =
  (run: string): Changes<readonly Series[]> =>
  (change) =>
    onLive("metrics", (event) => {
      if (event.run === run && Object.keys(event.series).some(isTimed)) change(() => undefined);
    });

/** Layers over readings: each column is a reading. Below, their names with the average of their shares. */
function Shares({ series }: { readonly series: readonly Series[] }) {
  const layers = stackTimes(series);
  const readings = layers[0]?.tops.length ?? 0;
  const shown = layers.map(({ name, shares, tops }, i) => ({
    key: `${i} ${name}`,
    text: `${name} ${((100 * sum(shares)) / Math.max(1, readings)).toFixed(1)} %`,
    path: `M0,1${tops.map((top, at) => `V${1 - top}H${at + 1}`).join("")}V1Z`,
    color: i === layers.length - 1 ? "var(--line)" : `var(--curve-${i % 8})`,
  }));
  return (
    <>
      <svg
        class="stack"
        width="100%"
        height="180"
        viewBox={`0 0 ${readings} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Shares of time at ${readings} readings`}
      >
        {/* Each covers what reaches up behind it. */}
        {shown.toReversed().map(({ key, text, path, color }) => (
          <path key={key} d={path} fill={color}>
            <title>{text}</title>
          </path>
        ))}
      </svg>
      <ul class="legend" aria-label="Shares of time">
        {shown.map(({ key, text, color }) => (
          <li key={key}>
            <Mark color={color} /> {text}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Timings of hooks, each under the one that brought it, with a bar of its total. */
function Timings({ hooks }: Hooks) {
  const nested = nestHooks(hooks);
  const most = Math.max(...nested.map(({ total }) => total), Number.MIN_VALUE);
  const ms = (value: number) => `${formatNumber(value)} ms`;
  return (
    <Table
      caption="Timings of hooks"
      rows={nested}
      empty="No timings of hooks were filed yet."
      columns={[
        {
          title: "Hook",
          cell: ({ name, depth }) => <span style={{ paddingLeft: `${depth}rem` }}>{name}</span>,
        },
        {
          title: "Total",
          cell: ({ name, own, total }) => (
            <span title={own < total ? `${ms(own)} of its own` : undefined}>
              <progress aria-label={`Share of ${name}`} max={most} value={total} /> {ms(total)}
            </span>
          ),
        },
        { title: "Calls", number: true, cell: ({ count }) => formatNumber(count) },
        { title: "Mean", number: true, cell: ({ mean }) => ms(mean) },
        { title: "p99", number: true, cell: ({ p99 }) => ms(p99) },
        { title: "Max", number: true, cell: ({ max }) => ms(max) },
      ]}
    />
  );
}
