// The tabs of a run. Each shows one kind of what the stats store and the run's directory have.
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ClusterStatus, Comparison, MetricSummary, RunDetail } from "../api.ts";
import { ChartsView, MetricChart } from "./charts.tsx";
import { CheckpointsView } from "./checkpoints-view.tsx";
import { isReport, now, useApi } from "./client.ts";
import { formatAge, formatNumber, formatTime } from "./format.ts";
import { HooksView } from "./hooks-view.tsx";
import { LogView } from "./log-view.tsx";
import { ReplaysView } from "./replay-view.tsx";
import { runs } from "./runs.ts";
import { SweepView } from "./sweep-view.tsx";
import { Loaded, Table, Text, useRows } from "./table.tsx";
import { TimeView } from "./timeline-view.tsx";
import { setView, view } from "./view.ts";
import "./views.css";

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly View: ComponentType<{ run: RunDetail }>;
}

export const tabs: readonly Tab[] = [
  { id: "charts", title: "Charts", View: ChartsView },
  { id: "evaluations", title: "Evaluations", View: EvaluationsView },
  { id: "health", title: "Health", View: HealthView },
  { id: "time", title: "Time", View: TimeView },
  { id: "hooks", title: "Hooks", View: HooksView },
  { id: "checkpoints", title: "Checkpoints", View: CheckpointsView },
  { id: "configuration", title: "Configuration", View: ConfigurationView },
  { id: "log", title: "Log", View: LogView },
  { id: "replays", title: "Replays", View: ReplaysView },
  { id: "interventions", title: "Interventions", View: InterventionsView },
  { id: "sweep", title: "Sweep", View: SweepView },
  { id: "cluster", title: "Cluster", View: ClusterView },
];

/** The tabs and the one that is chosen. Arrow keys, Home and End go from tab to tab. */
export function RunTabs({ run }: { run: RunDetail }) {
  const list = useRef<HTMLDivElement>(null);
  const shown = tabs.filter(({ id }) => id !== "sweep" || run.sweep !== undefined);
  const at = Math.max(
    0,
    shown.findIndex(({ id }) => id === view.value.tab),
  );
  const chosen = shown[at];
  const onKeyDown = (event: KeyboardEvent) => {
    const last = shown.length - 1;
    const next = {
      ArrowLeft: at === 0 ? last : at - 1,
      ArrowRight: at === last ? 0 : at + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setView({ tab: shown[next]?.id ?? "charts" });
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  // On a narrow page the list scrolls.
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [at]);
  if (!chosen) return null;
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Views of the run" ref={list} onKeyDown={onKeyDown}>
        {shown.map(({ id, title }, i) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={i === at}
            aria-controls="tab-panel"
            tabIndex={i === at ? 0 : -1}
            onClick={() => setView({ tab: id })}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen.id}`}>
        {/* Charts hold several runs: picking another one leaves them as they are. */}
        <chosen.View key={chosen.id === "charts" ? chosen.id : `${run.id} ${chosen.id}`} run={run} />
      </div>
    </>
  );
}

/** Charts of metrics that belong together: one for each group that has any. */
function Groups({
  run,
  groups,
}: {
  run: RunDetail;
  groups: readonly (readonly [string, readonly string[]])[];
}) {
  return (
    <div class="charts">
      {groups.map(
        ([title, keys]) =>
          keys.length > 0 && (
            <div key={title}>
              <MetricChart runs={[run.id]} keys={keys} title={title} />
              {keys.length > 1 && (
                <p class="legend">
                  {keys.map((key, i) => (
                    <small key={key}>
                      <span class={`swatch curve-${i % 8}`} /> {key.slice(key.search(/[./][^./]*$/) + 1)}
                    </small>
                  ))}
                </p>
              )}
            </div>
          ),
      )}
    </div>
  );
}

/** Metrics of a category by the part of their names before the first dot: `memory.heap` is one of `memory`. */
function byPrefix(
  metrics: readonly MetricSummary[],
  category: string,
): readonly (readonly [string, string[]])[] {
  const groups = new Map<string, string[]>();
  for (const { key, name, category: of, last } of metrics) {
    // Texts have no curve.
    if (of !== category || last === undefined) continue;
    const prefix = name.includes(".")
      ? name.slice(0, name.indexOf("."))
      : category === "curriculum"
        ? "lessons"
        : name;
    groups.set(prefix, [...(groups.get(prefix) ?? []), key]);
  }
  return [...groups].map(([prefix, keys]) => [`${category}: ${prefix}`, keys]);
}

/** Scores over steps as curves and as a table, and what a curriculum made of them. */
function EvaluationsView({ run }: { run: RunDetail }) {
  const answer = useRows(run.id, "evaluation");
  const scores = run.metrics.filter(({ category }) => category === "evaluation" || category === "validation");
  const lessons = byPrefix(run.metrics, "curriculum");
  return (
    <>
      {scores.length > 0 && <h3>Scores</h3>}
      <Groups run={run} groups={withSpread(scores.map(({ key }) => key))} />
      {lessons.length > 0 && (
        <>
          <h3>Lessons of the curriculum</h3>
          <Groups run={run} groups={lessons} />
        </>
      )}
      <h3>Evaluations</h3>
      <Loaded answer={answer}>
        {(rows) => (
          <Table
            caption="Evaluations, newest first"
            rows={rows.toReversed()}
            keyOf={(_, i) => rows.length - i}
            empty="No evaluation was filed."
            columns={[
              { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
              { title: "When", cell: ({ wall }) => formatTime(wall) },
              ...[...new Set(rows.flatMap((row) => Object.keys(row.scores)))].map((name) => ({
                title: name,
                number: true,
                cell: (row: (typeof rows)[number]) => formatNumber(row.scores[name]),
              })),
              { title: "Checkpoint", cell: ({ checkpoint = "" }) => <span class="break">{checkpoint}</span> },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

/** A score and its spread over episodes, `return.min` beside `return`, in one chart. */
function withSpread(keys: readonly string[]): readonly (readonly [string, string[]])[] {
  const of = (key: string) => key.replace(/\.(min|max|deviation)$/, "");
  return [...new Set(keys.map(of))].map((title) => [title, keys.filter((key) => of(key) === title)]);
}

/** Gradients, updates that were skipped, spikes of the loss, and the machine. */
function HealthView({ run }: { run: RunDetail }) {
  const named = (pattern: RegExp) => run.metrics.map(({ key }) => key).filter((key) => pattern.test(key));
  const groups = [
    ["Gradient norm", named(/^(train|gradients)\/.*norm/i)],
    ["Updates that took effect (share)", named(/^train\/applied$/)],
    ...byPrefix(run.metrics, "gradients"),
    ...byPrefix(run.metrics, "health"),
  ] as const;
  const machine = byPrefix(run.metrics, "system");
  const trains = groups.some(([, keys]) => keys.length > 0);
  if (!trains && machine.length === 0)
    return <p class="note">This run logged nothing about gradients, health or the machine.</p>;
  return (
    <>
      {trains && <h3>Training</h3>}
      <Groups run={run} groups={groups} />
      {machine.length > 0 && <h3>Machine</h3>}
      <Groups run={run} groups={machine} />
    </>
  );
}

/** The resolved configuration, and in what it differs from others. */
function ConfigurationView({ run }: { run: RunDetail }) {
  const others = view.value.runs.filter((id) => id !== run.id);
  return (
    <>
      {!isReport && (
        <label>
          Difference with{" "}
          <select
            value={others[0] ?? ""}
            onChange={(event) => {
              const other = event.currentTarget.value;
              setView({ runs: other === "" ? [] : [other] });
            }}
          >
            <option value="">no other run</option>
            {[...(runs.value?.values() ?? [])]
              .filter(({ id }) => id !== run.id)
              .map(({ id, name }) => (
                <option key={id} value={id}>
                  {name === id ? id : `${name} (${id})`}
                </option>
              ))}
          </select>
        </label>
      )}
      {others.length > 0 && <Difference runs={[run.id, ...others]} />}
      <h3>Configuration</h3>
      <Text>{run.config}</Text>
    </>
  );
}

function Difference({ runs }: { runs: readonly string[] }) {
  const answer = useApi<Comparison>(
    `/api/compare?${runs.map((id) => `run=${encodeURIComponent(id)}`).join("&")}`,
  );
  return (
    <Loaded answer={answer}>
      {({ runs: compared, settings, metrics }) => {
        const columns = <V,>(text: (value: V) => string) =>
          compared.map(({ id }, i) => ({
            title: id,
            cell: ([, values]: [string, readonly (V | null)[]]) => {
              const value = values[i] ?? null;
              return (
                <span class={i > 0 && value !== values[0] ? "changed" : undefined}>
                  {value === null ? "—" : text(value)}
                </span>
              );
            },
          }));
        return (
          <>
            <h3>Settings that differ</h3>
            <Table
              caption="Settings that differ"
              rows={Object.entries(settings)}
              keyOf={([path]) => path}
              empty="All settings are the same."
              columns={[{ title: "Setting", cell: ([path]) => path }, ...columns<string>(String)]}
            />
            <details>
              <summary>Newest metrics</summary>
              <Table
                caption="Newest metrics"
                rows={Object.entries(metrics)}
                keyOf={([key]) => key}
                columns={[{ title: "Metric", cell: ([key]) => key }, ...columns<number>(formatNumber)]}
              />
            </details>
          </>
        );
      }}
    </Loaded>
  );
}

/** Who told the run what, and what became of it. */
function InterventionsView({ run }: { run: RunDetail }) {
  const answer = useRows(run.id, "intervention");
  return (
    <Loaded answer={answer}>
      {(rows) => (
        <Table
          caption="Interventions, newest first"
          rows={rows.toReversed()}
          keyOf={(_, i) => rows.length - i}
          empty="Nobody has interfered with this run."
          columns={[
            { title: "When", cell: ({ wall }) => formatTime(wall) },
            { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
            { title: "Who", cell: ({ who }) => who },
            { title: "What", cell: ({ what }) => what },
            { title: "Answer", cell: ({ details }) => <span class="break">{detailsText(details)}</span> },
          ]}
        />
      )}
    </Loaded>
  );
}

/** What became of a request and why, and whatever else was filed. */
function detailsText(details: unknown): string {
  if (typeof details !== "object" || details === null) return String(details ?? "");
  const { outcome, reason, request: _, asked: __, ...rest } = details as Readonly<Record<string, unknown>>;
  const more = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [outcome, reason, ...more].filter((part) => part !== undefined && part !== null).join(": ");
}

/** Milliseconds between looks at the cluster, while the page is in sight. */
const clusterInterval = 2000;

/** Workers and evaluators of all runs over the NATS server, this run's first. */
function ClusterView({ run }: { run: RunDetail }) {
  const answer = useApi<ClusterStatus>("/api/cluster");
  const reload = useRef(answer.reload);
  reload.current = answer.reload;
  useEffect(() => {
    if (isReport) return;
    const timer = setInterval(() => !document.hidden && reload.current(), clusterInterval);
    return () => clearInterval(timer);
  }, []);
  return (
    <Loaded answer={answer}>
      {({ server, problem, runs: shown }) => (
        <>
          {problem !== undefined && <p class="note">{problem}</p>}
          {server !== undefined && <p class="note">{`Server ${server}`}</p>}
          {shown.length === 0 && problem === undefined && <p class="note">No run uses this server.</p>}
          {[...shown]
            .sort((a, b) => Number(b.run === run.id) - Number(a.run === run.id))
            .map((one) => (
              <section key={one.run} aria-label={one.run}>
                <h3>{one.run}</h3>
                <p>
                  {one.state}
                  {one.queued !== undefined && `, ${formatNumber(one.queued)} rollouts wait for the trainer`}
                </p>
                <Table
                  caption={`Members of ${one.run}`}
                  rows={one.members}
                  keyOf={({ name }) => name}
                  empty="No members were heard of."
                  columns={[
                    { title: "Member", cell: ({ name }) => name },
                    { title: "Role", cell: ({ role }) => role },
                    { title: "Host", cell: ({ host }) => host },
                    { title: "Doing", cell: ({ doing }) => doing },
                    { title: "Staleness", number: true, cell: ({ staleness }) => formatNumber(staleness) },
                    { title: "Rate /s", number: true, cell: ({ rate }) => formatNumber(rate) },
                    { title: "Seen", cell: ({ seen }) => formatAge(now.value - seen) },
                  ]}
                />
              </section>
            ))}
        </>
      )}
    </Loaded>
  );
}
