// The tab "Time": shares of phases and hooks over the run, and timings of hooks.
import type { Hooks, RunDetail, Series } from "../api.ts";
import { apiOf, type Changes, getSeries, onLive } from "./client.ts";
import { askedAt, Loaded, Table } from "./elements.tsx";
import { formatNumber } from "./format.ts";
import { isTimed, nestHooks, sum, timelineOf } from "./timeline.ts";
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

/** Layers over readings, stacked: each column is a reading. Below, their names with the average of their shares. */
function Shares({ series }: { readonly series: readonly Series[] }) {
  const { x, layers } = timelineOf(series);
  const shown = layers.map(({ name, kind, share, base }, layer) => {
    const edge = base.map((below, i) => [1 - below - (share[i] ?? 0), 1 - below] as const);
    const top = edge.map(([y], i) => `${i},${y} ${i + 1},${y}`);
    const bottom = edge.map(([, y], i) => `${i + 1},${y} ${i},${y}`).reverse();
    return {
      key: `${kind} ${name}`,
      text: `${name} ${((100 * sum(share)) / Math.max(1, x.length)).toFixed(1)} %`,
      points: [...top, ...bottom].join(" "),
      color: kind === "rest" ? "var(--line)" : `var(--curve-${layer % 8})`,
    };
  });
  return (
    <>
      <svg
        class="stack"
        width="100%"
        height="180"
        viewBox={`0 0 ${x.length} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Shares of time at ${x.length} readings`}
      >
        {shown.map(({ key, text, points, color }) => (
          <polygon key={key} points={points} fill={color}>
            <title>{text}</title>
          </polygon>
        ))}
      </svg>
      <ul class="legend" aria-label="Shares of time">
        {shown.map(({ key, text, color }) => (
          <li key={key}>
            <span style={{ color }} aria-hidden="true">
              ━
            </span>{" "}
            {text}
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
