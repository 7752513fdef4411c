// The page: the list of runs or one of them, under one header. Read view.ts for what the URL holds, client.ts for what is
// asked of the server.
import { effect, useComputed } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunSummary } from "../api.ts";
import { overlaid } from "./charts.tsx";
import { connected, dismiss, isReport, openSession, session, toasts, watch } from "./client.ts";
import { Controls } from "./controls.tsx";
import { Button, Dialog, Select, useKeys } from "./elements.tsx";
import { formatTime } from "./format.ts";
import { details, followRuns, openDetails, runs } from "./runs.ts";
import { listed, RunActions, RunFacts, RunsList } from "./runs-list.tsx";
import { formatView, setView, view } from "./view.ts";
import { RunTabs, tabs } from "./views.tsx";
import "./style.css";

const themes = ["auto", "light", "dark"] as const;

function Page() {
  const run = useComputed(() => view.value.run).value;
  const [help, setHelp] = useState(false);
  const showHelp = () => setHelp(true);
  useKeys((key) => actionOf(key, showHelp));
  return (
    <>
      <Header onHelp={showHelp} />
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
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function Header({ onHelp }: { readonly onHelp: () => void }) {
  const theme = useComputed(() => view.value.theme).value;
  const list = formatView({ ...view.value, run: undefined, zoom: undefined }) || "#";
  const about = session.value;
  const said = { open: "● live", lost: "○ connection lost, trying again", closed: "○ connecting" };
  return (
    <header class="top">
      <h1>{isReport ? "Espalier report" : <a href={list}>Espalier</a>}</h1>
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
      <Button text="?" aria-label="Keyboard shortcuts" on={onHelp} />
    </header>
  );
}

function RunPage({ id }: { readonly id: string }) {
  const wanted = useComputed(() => JSON.stringify(overlaid())).value;
  const [asked, setAsked] = useState("");
  useEffect(() => {
    void openDetails(JSON.parse(wanted) as string[]).finally(() => setAsked(wanted));
  }, [wanted]);
  // In the list nothing keeps them up to date.
  useEffect(() => () => void openDetails([]), []);
  const summary = runs.value?.get(id);
  const detail = details.value.get(id);
  // What came live since the run was opened is newer.
  const run = detail && { ...detail, ...summary };
  if (!run)
    return (
      <p class="note">
        {asked === wanted
          ? "There is no such run: it was deleted, or it lies in another directory."
          : "Loading the run …"}
      </p>
    );
  return (
    <>
      <header class="run">
        <h2>
          {run.name} <small class="id">{run.id}</small>
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
          <span>
            {toast.message} {toast.fix && <em>{toast.fix}</em>}
          </span>
          <Button text="×" aria-label="Dismiss" on={() => dismiss(toast)} />
        </p>
      ))}
    </div>
  );
}

const shortcuts = [
  ["?", "show this help"],
  ["/", "search runs, filter metrics"],
  ["l", "list of runs"],
  ["[ and ]", "previous and next run of the list"],
  ["1 to 9", "tabs of the run"],
  ["d", "light, dark or automatic colours"],
  ["← and →", "charts: move the visible part"],
  ["+ and -", "charts: zoom"],
  ["r", "charts: show everything again"],
  ["a", "charts: over steps or time"],
  ["y", "charts: log scale"],
  ["s and S", "charts: smooth more, smooth less"],
  ["drag, shift-drag, double click", "charts: zoom in, move, show everything"],
] as const;

function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl>{shortcuts.flatMap(([keys, what]) => [<dt key={keys}>{keys}</dt>, <dd key={what}>{what}</dd>])}</dl>
      <Button text="Close" on={onClose} />
    </Dialog>
  );
}

/** Keys of the whole page. A report has one run and no list. */
function actionOf(key: string, showHelp: () => void): (() => void) | undefined {
  const { run, theme } = view.peek();
  const goBy = (by: number) => {
    const ids = listed(runs.peek()?.values() ?? []).map(({ id }) => id);
    const at = run === undefined ? -1 : ids.indexOf(run);
    const next = ids[at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + by))];
    if (next !== undefined) setView({ run: next, runs: [] });
  };
  const everywhere: Record<string, () => void> = {
    "?": showHelp,
    "/": () => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus(),
    d: () => setView({ theme: themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto" }),
  };
  const amongRuns: Record<string, () => void> = {
    l: () => setView({ run: undefined, zoom: undefined }),
    "[": () => goBy(-1),
    "]": () => goBy(1),
  };
  const tab = run === undefined ? undefined : tabs[Number(key) - 1];
  return (
    everywhere[key] ?? (isReport ? undefined : amongRuns[key]) ?? (tab && (() => setView({ tab: tab.id })))
  );
}

// A report shows the run that it holds.
const [held] = (window.__ESPALIER_REPORT__?.["/api/runs"] ?? []) as readonly RunSummary[];
if (held && view.peek().run === undefined) setView({ run: held.id }, false);

// Before anything is rendered: the live connection is there when views ask.
effect(() => watch(view.value.run === undefined ? [] : overlaid()));
effect(() => {
  document.documentElement.dataset.theme = view.value.theme;
});
effect(() => {
  const { run } = view.value;
  document.title = run === undefined ? "Espalier" : `${runs.value?.get(run)?.name ?? run} · Espalier`;
});
void openSession();
followRuns();
const root = document.getElementById("app");
if (root) render(<Page />, root);
