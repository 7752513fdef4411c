// The page: the list of runs or one of them, under one header. Read view.ts for what the URL holds, client.ts for what is
// asked of the server.
import { effect, useComputed } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isTyping, overlaid } from "./charts.tsx";
import { dismiss, isReport, live, openSession, session, toasts, watch } from "./client.ts";
import { Controls } from "./controls.tsx";
import { formatTime } from "./format.ts";
import { details, followRuns, openDetails, runs } from "./runs.ts";
import {
  Age,
  countersText,
  Dialog,
  Duration,
  listed,
  Progress,
  RunActions,
  RunsList,
  State,
  TagButton,
} from "./runs-list.tsx";
import { formatView, setView, type View, view } from "./view.ts";
import { RunTabs, tabs } from "./views.tsx";
import "./style.css";

const themes = ["auto", "light", "dark"] as const;

function Page() {
  const run = useComputed(() => view.value.run).value;
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp(true));
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Header onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
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
  const connection = { open: "● live", lost: "○ connection lost, trying again", closed: "○ connecting" }[
    live.value
  ];
  return (
    <header class="top">
      <h1>{isReport ? "Espalier report" : <a href={list}>Espalier</a>}</h1>
      <small class="where" title={about?.store}>
        {isReport ? about && `made ${formatTime(about.now)}` : about?.directory}
      </small>
      {!isReport && (
        <small class={`live ${live.value}`} role="status">
          {connection}
          {about && !about.control && " · read only"}
        </small>
      )}
      <label>
        <span class="visually-hidden">Theme</span>
        <select
          value={theme}
          onChange={(event) =>
            setView({ theme: themes.find((one) => one === event.currentTarget.value) ?? "auto" })
          }
        >
          {themes.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button type="button" aria-label="Keyboard shortcuts" onClick={onHelp}>
        ?
      </button>
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
          <State run={run} /> <Progress run={run} />
          <span>{countersText(run)}</span>
          <span>
            started {formatTime(run.startedAt)}, <Duration run={run} />
          </span>
          {run.heartbeat !== undefined && !isReport && run.endedAt === undefined && (
            <span>
              heartbeat <Age at={run.heartbeat} />
            </span>
          )}
          {run.resumes > 0 && <span>resumed {run.resumes} times</span>}
          {run.tags.map((tag) => (
            <TagButton key={tag} tag={tag} />
          ))}
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
      {toasts.value.map(({ id, message, fix }) => (
        <p key={id}>
          <span>
            {message} {fix && <em>{fix}</em>}
          </span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
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
      <dl>
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

function useKeys(showHelp: () => void): void {
  useEffect(() => {
    const act = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const now = view.peek();
      const neighbour = (by: number): Partial<View> => {
        const ids = listed(runs.peek()?.values() ?? []).map((run) => run.id);
        const at = now.run === undefined ? -1 : ids.indexOf(now.run);
        const run = ids[at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + by))];
        return run === undefined ? {} : { run, runs: [] };
      };
      const actions: Record<string, () => void> = {
        "?": showHelp,
        "/": () => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus(),
        l: () => setView({ run: undefined, zoom: undefined }),
        "[": () => setView(neighbour(-1)),
        "]": () => setView(neighbour(1)),
        d: () => setView({ theme: themes[(themes.indexOf(now.theme) + 1) % 3] ?? "auto" }),
      };
      const tab = now.run === undefined ? undefined : tabs[Number(event.key) - 1];
      const action = actions[event.key] ?? (tab && (() => setView({ tab: tab.id })));
      if (!action || (isReport && "l[]".includes(event.key))) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", act);
    return () => removeEventListener("keydown", act);
  }, []);
}

// A report shows the run that it holds.
if (isReport && view.peek().run === undefined) {
  const path = Object.keys(window.__ESPALIER_REPORT__ ?? {}).find((one) => /^\/api\/runs\/[^/?]+$/.test(one));
  if (path) setView({ run: decodeURIComponent(path.slice("/api/runs/".length)) }, false);
}

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
