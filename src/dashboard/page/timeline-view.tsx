// The tab "Time": shares of phases and hooks over the run, nested blocks of one moment, and timings of hooks.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Hooks, RunDetail, Series } from "../api.ts";
import { onLive, useApi } from "./client.ts";
import { formatNumber } from "./format.ts";
import { apiOf, Button, Loaded, Table, useFresh } from "./table.tsx";
import { type Block, blocksOf, isTimed, nestHooks, type Timeline, timelineOf, timeTree } from "./timeline.ts";
import { view } from "./view.ts";

export function TimeView({ run }: { run: RunDetail }) {
  const keys = run.metrics.map(({ key }) => key).filter(isTimed);
  const query = keys.map((key) => `key=${encodeURIComponent(key)}`).join("&");
  const { axis } = view.value;
  const series = useApi<readonly Series[]>(
    keys.length > 0 ? `${apiOf(run.id, "series")}?${query}&points=300&axis=${axis}` : undefined,
  );
  const hooks = useFresh<Hooks>(run.id, "hooks", "decision");
  return (
    <>
      <h3>Shares of time</h3>
      {keys.length === 0 ? (
        <p class="note">No timings were logged: they come every 10 seconds, and once at the end.</p>
      ) : (
        <Loaded answer={series}>{(data) => <Shares run={run.id} series={data} axis={axis} />}</Loaded>
      )}
      <h3>Hooks</h3>
      <Loaded answer={hooks}>{(data) => <Timings {...data} />}</Loaded>
    </>
  );
}

function Shares({ run, series, axis }: { run: string; series: readonly Series[]; axis: "step" | "time" }) {
  const grown = useGrowing(run, series, axis);
  const timeline = useMemo(() => timelineOf(grown), [grown]);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const last = timeline.x.length - 1;
  if (last < 0) return <p class="note">No timings were logged yet.</p>;
  const reading = chosen === undefined ? undefined : Math.min(chosen, last);
  const at = reading === undefined ? undefined : timeline.x[reading];
  const place = axis === "time" ? new Date(at ?? 0).toLocaleTimeString() : `step ${formatNumber(at)}`;
  return (
    <>
      <Stack timeline={timeline} reading={reading} />
      <div class="toolbar">
        <label class="grow">
          <span class="visually-hidden">Reading</span>
          <input
            type="range"
            min={0}
            max={last}
            value={reading ?? last}
            aria-valuetext={at === undefined ? "average of all readings" : place}
            onInput={(event) => setChosen(Number(event.currentTarget.value))}
          />
        </label>
        <output>{at === undefined ? "Average of all readings" : `Up to ${place}`}</output>
        <Button off={chosen === undefined} on={() => setChosen(undefined)}>
          Average
        </Button>
      </div>
      <Flame blocks={blocksOf(timeTree(timeline, reading))} order={timeline.layers.map(({ name }) => name)} />
    </>
  );
}

/** Series, and behind them what comes live. */
function useGrowing(run: string, series: readonly Series[], axis: "step" | "time"): readonly Series[] {
  const [grown, setGrown] = useState(series);
  useEffect(() => {
    setGrown(series);
    return onLive("metrics", (event) => {
      if (event.run !== run || !Object.keys(event.series).some(isTimed)) return;
      setGrown((before) =>
        before.map((one) => {
          const added = event.series[one.key];
          if (!added) return one;
          const from = added[axis].findIndex((x) => x > (one.x.at(-1) ?? Number.NEGATIVE_INFINITY));
          if (from === -1) return one;
          return {
            ...one,
            x: [...one.x, ...added[axis].slice(from)],
            mean: [...one.mean, ...added.value.slice(from)],
          };
        }),
      );
    });
  }, [run, series, axis]);
  return grown;
}

/** A layer has the same colour in both pictures; what is no layer, and the rest, have none. */
function colorOf(name: string, kind: string, order: readonly string[]): string {
  const at = order.indexOf(name);
  return kind === "rest" || at === -1 ? "var(--line)" : `var(--curve-${at % 8})`;
}

/** Layers over readings, stacked: each column is a reading. */
function Stack({ timeline: { x, layers }, reading }: { timeline: Timeline; reading: number | undefined }) {
  const order = layers.map(({ name }) => name);
  const width = x.length;
  return (
    <svg
      class="stack"
      viewBox={`0 0 ${width} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Shares of time of ${order.join(", ")} at ${width} readings`}
    >
      {layers.map(({ name, kind, share, base }) => {
        const top = share.map(
          (one, i) => `${i},${1 - (base[i] ?? 0) - one} ${i + 1},${1 - (base[i] ?? 0) - one}`,
        );
        const bottom = base.map((one, i) => `${i + 1},${1 - one} ${i},${1 - one}`).reverse();
        return (
          <polygon
            key={`${kind} ${name}`}
            points={`${top.join(" ")} ${bottom.join(" ")}`}
            fill={colorOf(name, kind, order)}
          >
            <title>{name}</title>
          </polygon>
        );
      })}
      {reading !== undefined && <rect x={reading} y={0} width={1} height={1} class="reading" />}
    </svg>
  );
}

/** Blocks as wide as their share, those within one another below. */
function Flame({ blocks, order }: { blocks: readonly Block[]; order: readonly string[] }) {
  const depth = Math.max(...blocks.map((block) => block.depth)) + 1;
  return (
    <ul class="flame" style={{ height: `${depth * 1.75}rem` }} aria-label="Shares of time">
      {blocks
        .filter(({ total }) => total > 0.0005)
        .map(({ name, kind, total, from, depth: level }) => {
          const text = `${name} ${(total * 100).toFixed(1)} %`;
          return (
            <li
              key={`${level} ${kind} ${name}`}
              title={text}
              style={{
                left: `${from * 100}%`,
                width: `${total * 100}%`,
                top: `${level * 1.75}rem`,
                borderColor: colorOf(name, kind, order),
              }}
            >
              {text}
            </li>
          );
        })}
    </ul>
  );
}

/** Timings of hooks, each under the one that brought it, with a bar of its total. */
function Timings({ hooks }: Hooks) {
  const byName = new Map(hooks.map((hook) => [hook.name, hook]));
  const blocks = blocksOf(nestHooks(hooks));
  const most = Math.max(...blocks.map(({ total }) => total), Number.MIN_VALUE);
  const ms = (value: number | undefined) => (value === undefined ? "" : `${formatNumber(value)} ms`);
  return (
    <Table
      caption="Timings of hooks"
      rows={blocks}
      keyOf={({ name }) => name}
      empty="No timings of hooks were filed yet."
      columns={[
        {
          title: "Hook",
          cell: ({ name, depth }) => <span style={{ paddingLeft: `${depth}rem` }}>{name}</span>,
        },
        {
          title: "Total",
          cell: ({ own, total }) => (
            <span class="bar-cell" title={own < total ? `${ms(own)} of its own` : undefined}>
              <span class="bar" style={{ width: `${(total / most) * 100}%` }} />
              <span>{ms(total)}</span>
            </span>
          ),
        },
        { title: "Calls", number: true, cell: ({ name }) => formatNumber(byName.get(name)?.count) },
        { title: "Mean", number: true, cell: ({ name }) => ms(byName.get(name)?.mean) },
        { title: "p99", number: true, cell: ({ name }) => ms(byName.get(name)?.p99) },
        { title: "Max", number: true, cell: ({ name }) => ms(byName.get(name)?.max) },
      ]}
    />
  );
}
