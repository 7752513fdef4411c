// The page: the list of runs or one of them, under one header. Read view.ts for what the URL holds, client.ts for what is
// asked of the server.
import { effect, useComputed } from "@preact/signals";
import { render } from "preact";
import type { RunSummary } from "../api.ts";
import { shortcutsOfCharts } from "./charts.tsx";
import { connected, dismiss, followSession, isReport, session, toasts, watch } from "./client.ts";
import { Controls } from "./controls.tsx";
import { Button, Missing, Reason, Select } from "./elements.tsx";
import { formatTime } from "./format.ts";
import { details, followDetails, followRuns, runs } from "./runs.ts";
import { listed, RunActions, RunFacts, RunsList } from "./runs-list.tsx";
import { linkTo, overlaid, setView, view } from "./view.ts";
import { RunTabs, tabs } from "./views.tsx";

const themes = ["auto", "light", "dark"] as const;

function Page() {
  const run = useComputed(() => view.value.run).value;
  return (
    <>
      <Header />
      <main>
        {run === undefined ? (
          <>
            <h2>Runs</h2>
            <RunsList />
          </>
        ) : (
          <RunPage id={run} />
        )}
      </main>
      <Toasts />
      <Help />
    </>
  );
}

function Header() {
  const theme = useComputed(() => view.value.theme).value;
  const about = session.value;
  const said = { open: "● live", lost: "○ connection lost, trying again", closed: "○ connecting" };
  return (
    <header class="top">
      <h1>
        {isReport ? "Espalier report" : <a href={linkTo({ run: undefined, zoom: undefined })}>Espalier</a>}
      </h1>
      <small class="where" title={about?.store}>
        {isReport ? about && `made ${formatTime(about.now)}` : about?.directory}
      </small>
      {!isReport && (
        <small class={`live ${connected.value}`} role="status">
          {said[connected.value]}
          {about && !about.control && " · read only"}
        </small>
      )}
      <Select
        label="Theme"
        value={theme}
        options={themes.map((one) => [one, one])}
        on={(one) => setView({ theme: one })}
      />
      <button type="button" popovertarget="help" aria-label="Keyboard shortcuts">
        ?
      </button>
    </header>
  );
}

function RunPage({ id }: { readonly id: string }) {
  const { data, error } = details.value.get(id) ?? {};
  if (!data) return <Missing error={error} />;
  // What came live since the run was opened is newer.
  const run = { ...data, ...runs.value?.get(id) };
  return (
    <>
      <header class="run">
        <h2>
          <bdi>{run.name}</bdi> <small class="id">{run.id}</small>
        </h2>
        <p class="facts">
          <RunFacts run={run} />
          <RunActions selected={[run]} />
        </p>
        {run.reason && <p class="reason">{run.reason}</p>}
        <Controls run={run} />
      </header>
      <RunTabs run={run} />
    </>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="alert">
      {toasts.value.map((toast) => (
        <p key={toast.message}>
          <Reason failure={toast} />
          <Button text="×" aria-label="Dismiss" on={() => dismiss(toast)} />
        </p>
      ))}
    </div>
  );
}

/** A key, what it does as the help says it, and doing it. */
type Shortcut = readonly [key: string, what: string, act: () => void];

const shortcuts: readonly Shortcut[] = [
  ["?", "show this help", () => document.getElementById("help")?.showPopover()],
  [
    "/",
    "search runs, filter metrics",
    () => document.querySelector<HTMLElement>("main [type=search]")?.focus(),
  ],
  ["d", "light, dark or automatic colours", () => setView({ theme: next(themes, view.peek().theme, 1) })],
];
/** None in a report, which has one run and no list. */
const shortcutsOfRuns: readonly Shortcut[] = isReport
  ? []
  : [
      ["l", "list of runs", () => setView({ run: undefined, zoom: undefined })],
      ["[", "previous run of the list", () => goBy(-1)],
      ["]", "next run of the list", () => goBy(1)],
    ];
const shortcutsOfTabs = tabs
  .slice(0, 9)
  .map(({ id, title }, i): Shortcut => [String(i + 1), title, () => setView({ tab: id })]);

/** The value after or before another one, and the first after the last. */
const next = <T,>(all: readonly T[], one: T, by: number): T =>
  all[(all.indexOf(one) + by + all.length) % all.length] ?? one;

function goBy(by: number): void {
  const { run } = view.peek();
  const ids = listed(runs.peek()?.values() ?? []).map(({ id }) => id);
  const to = run === undefined || !ids.includes(run) ? ids[0] : next(ids, run, by);
  if (to !== undefined) setView({ run: to, runs: [] });
}

/** Obeys a key, while nothing is typed into a field or a dialog. */
function pressed(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : undefined;
  const field = target?.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || field) return;
  const { run, tab } = view.peek();
  const all = [
    ...shortcuts,
    ...shortcutsOfRuns,
    ...(run === undefined ? [] : shortcutsOfTabs),
    ...(run !== undefined && tab === "charts" ? shortcutsOfCharts : []),
  ];
  const act = all.find(([key]) => key === event.key)?.[2];
  if (!act) return;
  event.preventDefault();
  act();
}

function Help() {
  const all = [...shortcuts, ...shortcutsOfRuns, ...shortcutsOfTabs, ...shortcutsOfCharts];
  return (
    <div id="help" popover="auto" role="dialog" aria-label="Keyboard shortcuts">
      <h2>Keyboard shortcuts</h2>
      <dl>{all.flatMap(([key, what]) => [<dt key={key}>{key}</dt>, <dd key={what}>{what}</dd>])}</dl>
      <p>In charts: drag to zoom in, drag with shift to move, double click to show everything.</p>
    </div>
  );
}

// A report shows the run that it holds.
const [held] = (window.__ESPALIER_REPORT__?.["/api/runs"] ?? []) as readonly RunSummary[];
if (held && view.peek().run === undefined) setView({ run: held.id }, false);

// Before anything is rendered: the live connection is there when views ask.
effect(() => {
  watch(overlaid.value);
  followDetails(overlaid.value);
});
effect(() => {
  const { theme } = view.value;
  document.documentElement.style.colorScheme = theme === "auto" ? "" : theme;
});
effect(() => {
  const { run } = view.value;
  document.title = run === undefined ? "Espalier" : `${runs.value?.get(run)?.name ?? run} · Espalier`;
});
addEventListener("keydown", pressed);
followSession();
followRuns();
const root = document.getElementById("app");
if (root) render(<Page />, root);
