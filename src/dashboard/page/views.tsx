// The tabs of a run. Each shows one kind of what the stats store and the run's directory have.
import { useComputed } from "@preact/signals";
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import type { ClusterStatus, Comparison, Hooks, RunDetail, Sweep, Why } from "../api.ts";
import { ChartsView, MetricCharts } from "./charts.tsx";
import { apiOf, type Changes, isReport, onLive } from "./client.ts";
import { canSteer, tell } from "./controls.tsx";
import { CheckpointsView, LogView, ReplaysView } from "./directory-views.tsx";
import { askedAt, Button, Events, Field, Loaded, Select, Table, Text } from "./elements.tsx";
import { formatNumber, formatTime } from "./format.ts";
import { runs } from "./runs.ts";
import { nestHooks } from "./timeline.ts";
import { TimeView } from "./timeline-view.tsx";
import { linkTo, overlaid, setView, view } from "./view.ts";

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly View: ComponentType<{ readonly run: RunDetail }>;
}

export const tabs: readonly [Tab, ...Tab[]] = [
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

/** The tabs as links, and what the chosen one shows. */
export function RunTabs({ run }: { readonly run: RunDetail }) {
  const absent = { sweep: run.sweep === undefined, cluster: isReport };
  const shown = tabs.filter(({ id }) => !absent[id as keyof typeof absent]);
  const id = useComputed(() => view.value.tab).value;
  const chosen = shown.find((tab) => tab.id === id) ?? tabs[0];
  return (
    <>
      <TabLinks tabs={shown} chosen={chosen} />
      <article aria-label={chosen.title}>
        {/* Charts hold several runs: picking another one leaves them as they are. */}
        <chosen.View key={chosen.id === "charts" ? chosen.id : `${run.id} ${chosen.id}`} run={run} />
      </article>
    </>
  );
}

const TabLinks = ({ tabs, chosen }: { readonly tabs: readonly Tab[]; readonly chosen: Tab }) => (
  <nav class="tabs" aria-label="Views of the run">
    {tabs.map((tab) => (
      <a key={tab.id} href={linkTo({ tab: tab.id })} aria-current={tab === chosen ? "page" : undefined}>
        {tab.title}
      </a>
    ))}
  </nav>
);

/** Scores over steps as curves and as a table, and what a curriculum made of them. */
function EvaluationsView({ run }: { readonly run: RunDetail }) {
  return (
    <>
      <MetricCharts fits={isScore} empty="No score was logged." />
      <h3>Evaluations</h3>
      <Events run={run.id} kind="evaluation">
        {(rows) => (
          <Table
            caption="Evaluations, newest first"
            rows={rows}
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
      </Events>
    </>
  );
}

/** Scores, and the lessons of a curriculum that they decide on. */
const isScore = (key: string): boolean => /^(evaluation|validation|curriculum)\//.test(key);

/** Gradients, updates that were skipped, spikes of the loss, and the machine. */
function HealthView(_: { readonly run: RunDetail }) {
  return (
    <MetricCharts fits={isHealth} empty="This run logged nothing about gradients, health or the machine." />
  );
}

const isHealth = (key: string): boolean =>
  /^(gradients|health|system)\/|^train\/(applied$|.*norm)/i.test(key);

/** The resolved configuration, and in what it differs from others. */
function ConfigurationView({ run }: { readonly run: RunDetail }) {
  const others = overlaid.value.filter((id) => id !== run.id);
  const choices = [...(runs.value?.values() ?? [])].filter(({ id }) => id !== run.id);
  return (
    <>
      {!isReport && (
        <Select
          label="Difference with"
          value={others[0] ?? ""}
          options={[["", "no other run"], ...choices.map(({ id, name }) => [id, `${name} (${id})`] as const)]}
          on={(other) => setView({ runs: other === "" ? [] : [other] })}
        />
      )}
      {others.length > 0 && <Difference runs={[run.id, ...others]} />}
      <h3>Configuration</h3>
      <Text>{run.config}</Text>
    </>
  );
}

function Difference({ runs }: { readonly runs: readonly string[] }) {
  const query = new URLSearchParams(runs.map((id) => ["run", id]));
  return (
    <Loaded<Comparison> path={`/api/compare?${query}`}>
      {({ runs: compared, settings }) => (
        <>
          <h3>Settings that differ</h3>
          <Table
            caption="Settings that differ"
            rows={Object.entries(settings)}
            empty="All settings are the same."
            columns={[
              { title: "Setting", cell: ([path]) => path },
              ...compared.map(({ id }, i) => ({
                title: id,
                cell: ([, values]: Setting) => {
                  const changed = values[i] !== values[0];
                  return <span class={changed ? "break changed" : "break"}>{values[i] ?? "—"}</span>;
                },
              })),
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

/** A path, and the value of each run. */
type Setting = readonly [path: string, values: readonly (string | null)[]];

/** Who told the run what, and what became of it. */
function InterventionsView({ run }: { readonly run: RunDetail }) {
  return (
    <Events run={run.id} kind="intervention">
      {(rows) => (
        <Table
          caption="Interventions, newest first"
          rows={rows}
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
    </Events>
  );
}

/** What became of a request and why, and whatever else was filed. */
function detailsText(details: unknown): string {
  if (typeof details !== "object" || details === null) return String(details ?? "");
  const { outcome, reason, request: _, asked: __, ...rest } = details as Readonly<Record<string, unknown>>;
  const more = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [outcome, reason, ...more].filter((part) => part !== undefined && part !== null).join(": ");
}

/** Each hook under the one that brought it: its state, its timings, why it did or did not run. Below, the plan. */
function HooksView({ run }: { readonly run: RunDetail }) {
  const asked = view.value.item;
  const told = run.control?.hooks ?? {};
  const actions = (name: string, enabled: boolean) => {
    const action = enabled ? "Disable" : "Enable";
    const ask = () => tell(run, { action: enabled ? "disable" : "enable", hook: name });
    const open = asked === name;
    return (
      <span class="buttons">
        {!isReport && (
          <Button
            text={action}
            aria-label={`${action} ${name}`}
            disabled={!canSteer(run) || !told[name] || told[name].fixed === true}
            title={told[name]?.fixed ? "It answers requests, so it stays enabled." : undefined}
            on={ask}
          />
        )}
        <Button
          text="Why"
          aria-label={`Why ${name} ran or did not`}
          aria-expanded={open}
          on={() => setView({ item: open ? "" : name })}
        />
      </span>
    );
  };
  const table = (hooks: Hooks["hooks"]) => {
    const rows = nestHooks(
      hooks.map((hook) => ({ ...hook, enabled: told[hook.name]?.enabled ?? hook.enabled })),
    );
    const most = Math.max(...rows.map(({ total }) => total), Number.MIN_VALUE);
    return (
      <Table
        caption="Hooks"
        rows={rows}
        keyOf={({ name }) => name}
        empty="Nothing was filed about hooks yet."
        columns={[
          {
            title: "Hook",
            cell: (hook) => <span style={{ paddingLeft: `${hook.depth}rem` }}>{hook.name}</span>,
          },
          { title: "State", cell: ({ enabled }) => (enabled ? "enabled" : "disabled") },
          { title: "Actions", cell: ({ name, enabled }) => actions(name, enabled) },
          {
            title: "Total",
            cell: ({ name, own, total }) => (
              <span title={own < total ? `${milliseconds(own)} of its own` : undefined}>
                <progress aria-label={`Share of ${name}`} max={most} value={total} /> {milliseconds(total)}
              </span>
            ),
          },
          { title: "Calls", number: true, cell: ({ count }) => formatNumber(count) },
          { title: "Mean", number: true, cell: ({ mean }) => milliseconds(mean) },
          { title: "p99", number: true, cell: ({ p99 }) => milliseconds(p99) },
          { title: "Max", number: true, cell: ({ max }) => milliseconds(max) },
        ]}
      />
    );
  };
  return (
    <Loaded<Hooks> path={apiOf(run.id, "hooks")} live={askedAt(run.id, "decision")}>
      {({ plan, hooks }) => (
        <>
          {table(hooks)}
          {asked !== "" && <Reasons run={run.id} hook={asked} />}
          <h3>Plan</h3>
          <Text>{plan ?? "The plan lies in the run's directory, which is not here."}</Text>
        </>
      )}
    </Loaded>
  );
}

const milliseconds = (value: number): string => `${formatNumber(value)} ms`;

/** The decisions about a hook, all of them or those at a step. */
function Reasons({ run, hook }: { readonly run: string; readonly hook: string }) {
  const [step, setStep] = useState("");
  const at = /^\d+$/.test(step.trim()) ? `&at=${step.trim()}` : "";
  return (
    <section class="panel" aria-label={`Why ${hook} ran or did not`}>
      <div class="toolbar">
        <h3>{`Why ${hook} ran or did not`}</h3>
        <Field label="at step" size={10} inputMode="numeric" placeholder="any" value={step} on={setStep} />
      </div>
      <Loaded<Why> path={`${apiOf(run, "why")}?hook=${encodeURIComponent(hook)}${at}`}>
        {({ lines }) => <Text>{lines.slice(-1000).join("\n") || "No decision was filed."}</Text>}
      </Loaded>
    </section>
  );
}

/** Trials of the run's sweep by their result. */
function SweepView({ run }: { readonly run: RunDetail }) {
  return (
    <Loaded<readonly Sweep[]> path="/api/sweeps" live={trialsMove}>
      {(sweeps) => {
        const sweep = sweeps.find(({ id }) => id === run.sweep);
        return sweep ? <Trials sweep={sweep} run={run.id} /> : <p class="note">{run.sweep} is not here.</p>;
      }}
    </Loaded>
  );
}

/** Asks again when a trial is new or in another state. */
const trialsMove: Changes<readonly Sweep[]> = (change) =>
  onLive("runs", ({ changed }) =>
    change((sweeps) => {
      const known = new Map(sweeps.flatMap(({ trials }) => trials.map(({ run, state }) => [run, state])));
      return changed.some(({ id, sweep, state }) => sweep && known.get(id) !== state) ? undefined : sweeps;
    }),
  );

/** Smaller results are better where the server does not say. */
function Trials({ sweep, run }: { readonly sweep: Sweep; readonly run: string }) {
  const { id, metric, parameters, trials, direction } = sweep;
  // Trials without a result come last.
  const cost = ({ result }: Sweep["trials"][number]) =>
    result === null ? Number.POSITIVE_INFINITY : direction === "maximize" ? -result : result;
  return (
    <Table
      caption={`Trials of ${id}, the best first`}
      rows={[...trials].sort((a, b) => (cost(a) === cost(b) ? 0 : cost(a) - cost(b)))}
      columns={[
        {
          title: "Trial",
          cell: (trial) =>
            trial.run === run ? <b>{run}</b> : <a href={linkTo({ run: trial.run })}>{trial.run}</a>,
        },
        { title: "State", cell: ({ state }) => state },
        { title: metric, number: true, cell: ({ result }) => formatNumber(result ?? undefined) },
        ...parameters.map((name) => ({
          title: name,
          number: true,
          cell: ({ values }: Sweep["trials"][number]) => shortened(values[name] ?? ""),
        })),
      ]}
    />
  );
}

/** A long number in few digits; words as they are. */
const shortened = (value: string): string =>
  value.length > 8 && Number.isFinite(Number(value)) ? formatNumber(Number(value)) : value;

/** Asks every two seconds, while the page is in sight: a cluster has no events. */
const everyTwoSeconds: Changes<ClusterStatus> = (change) => {
  const timer = setInterval(() => !document.hidden && change(() => undefined), 2000);
  return () => clearInterval(timer);
};

const numberOf = (title: string, name: string) => ({
  title,
  number: true,
  cell: ({ numbers }: ClusterStatus["runs"][number]["members"][number]) => formatNumber(numbers[name]),
});

/** Workers and evaluators of all runs over the NATS server, this run's first. */
function ClusterView({ run }: { readonly run: RunDetail }) {
  return (
    <Loaded<ClusterStatus> path="/api/cluster" live={everyTwoSeconds}>
      {({ server, problem, runs: shown }) => (
        <>
          <p class="note">{problem ?? `Server ${server}: ${shown.length} runs`}</p>
          {[...shown]
            .sort((a, b) => Number(b.run === run.id) - Number(a.run === run.id))
            .map((one) => (
              <section key={one.run} aria-label={one.run}>
                <h3>{one.run}</h3>
                <p>
                  {one.state}
                  {one.members
                    .filter(({ numbers }) => numbers.queued !== undefined)
                    .map(({ numbers }) => `, ${formatNumber(numbers.queued)} rollouts wait for the trainer`)}
                </p>
                <Table
                  caption={`Members of ${one.run}`}
                  rows={one.members}
                  empty="No members were heard of."
                  columns={[
                    { title: "Member", cell: ({ name }) => name },
                    { title: "Role", cell: ({ kind }) => kind },
                    { title: "Host", cell: ({ host }) => host },
                    { title: "Doing", cell: ({ doing }) => doing },
                    numberOf("Staleness", "staleness"),
                    numberOf("Rate /s", "rate"),
                  ]}
                />
              </section>
            ))}
        </>
      )}
    </Loaded>
  );
}
