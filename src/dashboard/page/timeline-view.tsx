// The tab "Time": shares of phases and hooks over the run.
import type { RunDetail, Series } from "../api.ts";
import { type Changes, changesOfRun, getSeries, onLive } from "./client.ts";
import { Loaded, Mark } from "./elements.tsx";
import { isTimed, stackTimes, sum } from "./timeline.ts";
import { type View, view } from "./view.ts";

export function TimeView({ run }: { readonly run: RunDetail }) {
  const keys = run.metrics.map(({ key }) => key).filter(isTimed);
  const { axis } = view.value;
  if (keys.length === 0)
    return <p class="note">No timings were logged: they come every 10 seconds, and once at the end.</p>;
  return (
    <Loaded
      path={JSON.stringify([run.id, axis, keys])}
      ask={() => askAll(run.id, keys, axis)}
      live={newTimings(run.id, axis)}
    >
      {(series) => <Shares series={series} />}
    </Loaded>
  );
}

/** Readings that are asked for. */
const readings = 300;

const askAll = async (
  run: string,
  keys: readonly string[],
  axis: View["axis"],
): Promise<readonly Series[]> => {
  const choice = { points: String(readings), axis };
  return (await Promise.all(keys.map((key) => getSeries(run, key, choice)))).flatMap((found) => found ?? []);
};

/** Adds the timings that the run logs every few seconds; asks for fewer points where they have become many. */
const newTimings = (run: string, axis: View["axis"]): Changes<readonly Series[]> =>
  changesOfRun(run, (change) =>
    onLive("metrics", (event) => {
      if (event.run !== run || !Object.keys(event.series).some(isTimed)) return;
      change((all) => {
        if (all.some(({ x }) => x.length > 4 * readings)) return undefined;
        return all.map((one) => {
          const came = event.series[one.key];
          return came ? { ...one, x: [...one.x, ...came[axis]], mean: [...one.mean, ...came.value] } : one;
        });
      });
    }),
  );

/** Layers over readings: each column is a reading. Below, their names with the average of their shares. */
function Shares({ series }: { readonly series: readonly Series[] }) {
  const layers = stackTimes(series);
  const columns = layers[0]?.tops.length ?? 0;
  const shown = layers.map(({ name, shares, tops }, i) => ({
    key: `${i} ${name}`,
    text: `${name} ${((100 * sum(shares)) / Math.max(1, columns)).toFixed(1)} %`,
    path: `M0,1${tops.map((top, at) => `V${1 - top}H${at + 1}`).join("")}V1Z`,
    color: i === layers.length - 1 ? "var(--line)" : `var(--curve-${i % 8})`,
  }));
  return (
    <>
      <svg
        class="stack"
        width="100%"
        height="180"
        viewBox={`0 0 ${columns} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Shares of time at ${columns} readings`}
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
