// The list of runs: search, tags, sorting, spark lines, and what can be done with the selected ones.
import { signal, useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Marks, RunSummary, Sparks } from "../api.ts";
import { get, isReport, now, onLive, send, session } from "./client.ts";
import { formatAge, formatDuration, formatNumber, formatTime } from "./format.ts";
import { runs, runsError, stateSigns, takeRuns } from "./runs.ts";
import { formatView, setView, view } from "./view.ts";

/** Rows that are made at once, before the first is seen; those after them follow when the browser is idle. */
const rowsAtOnce = 60;
/** Rows that come by themselves; more come when asked for. */
const rowsUnasked = 500;

interface Column {
  readonly title: string;
  /** What it is sorted by. */
  readonly of: (run: RunSummary) => string | number;
  readonly cell?: (run: RunSummary) => ComponentChildren;
}

const columns: Readonly<Record<string, Column>> = {
  name: { title: "Run", of: (run) => run.name.toLowerCase() },
  state: { title: "State", of: (run) => run.state, cell: (run) => <State run={run} /> },
  progress: { title: "Progress", of: (run) => run.progress ?? -1, cell: (run) => <Progress run={run} /> },
  counters: {
    title: "Counters",
    of: (run) => Math.max(0, ...Object.values(run.counters)),
    cell: countersText,
  },
  heartbeat: {
    title: "Heartbeat",
    of: (run) => run.heartbeat ?? 0,
    cell: (run) => run.heartbeat !== undefined && <Age at={run.heartbeat} />,
  },
  started: { title: "Started", of: (run) => run.startedAt, cell: (run) => formatTime(run.startedAt) },
  duration: {
    title: "Duration",
    of: (run) => (run.endedAt ?? now.peek()) - run.startedAt,
    cell: (run) => <Duration run={run} />,
  },
};

/** The runs that the view asks for, in its order. */
export function listed(all: Iterable<RunSummary>): readonly RunSummary[] {
  const { search, tags, showArchived, hidden, sort } = view.value;
  const words = search.toLowerCase().split(/\s+/);
  const found = [...all].filter((run) => {
    if (hidden.includes(run.id) || (run.archived && !showArchived)) return false;
    const text = [run.name, run.id, run.state, ...run.tags].join("\n").toLowerCase();
    return words.every((word) => text.includes(word)) && tags.every((tag) => run.tags.includes(tag));
  });
  const column = columns[sort.replace(/^-/, "")];
  const sign = sort.startsWith("-") ? -1 : 1;
  return found.sort((a, b) => {
    const [x, y] = [column?.of(a) ?? 0, column?.of(b) ?? 0];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

export function RunsList() {
  const all = runs.value;
  const [limit, setLimit] = useState(rowsAtOnce);
  const [most, setMost] = useState(rowsUnasked);
  useEffect(() => {
    if (!all || limit >= Math.min(most, all.size)) return;
    const later = requestIdleCallback(() => setLimit(limit + 2 * rowsAtOnce), { timeout: 200 });
    return () => cancelIdleCallback(later);
  }, [limit, most, all?.size]);
  const { runs: selected, hidden, search, tags, showArchived, sort, spark } = view.value;
  if (!all)
    return runsError.value ? (
      <p class="note" role="alert">
        {runsError.value.message} {runsError.value.fix}
      </p>
    ) : (
      <p class="note">Loading the runs …</p>
    );
  const rows = listed(all.values());
  const archived = [...all.values()].filter((run) => run.archived).length;
  return (
    <>
      <search class="toolbar">
        <input
          type="search"
          aria-label="Search runs"
          placeholder="Search name, id, tag or state (/)"
          value={search}
          onInput={(event) => setView({ search: event.currentTarget.value })}
        />
        <label class="narrow-only">
          Sort by{" "}
          <select value={sort} onChange={(event) => setView({ sort: event.currentTarget.value })}>
            {Object.entries(columns).flatMap(([id, { title }]) => [
              <option key={id} value={id}>{`${title}, ascending`}</option>,
              <option key={`-${id}`} value={`-${id}`}>{`${title}, descending`}</option>,
            ])}
          </select>
        </label>
        <label>
          Spark line of{" "}
          <input
            type="text"
            class="metric"
            value={spark}
            onChange={(event) => setView({ spark: event.currentTarget.value.trim() || "train/loss" })}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={showArchived}
            onChange={() => setView({ showArchived: !showArchived })}
          />{" "}
          Archived ({archived})
        </label>
        {hidden.length > 0 && (
          <button type="button" onClick={() => setView({ hidden: [] })}>
            Show {hidden.length} hidden
          </button>
        )}
        {tags.map((tag) => (
          <TagButton key={tag} tag={tag} />
        ))}
      </search>
      {selected.length > 0 && <Selection selected={selected.flatMap((id) => all.get(id) ?? [])} />}
      <p class="visually-hidden" role="status">
        {rows.length} of {all.size} runs
      </p>
      {rows.length === 0 ? (
        <p class="note">
          {all.size === 0
            ? `No runs yet in ${session.value?.directory ?? "the directory of runs"}. Start one with: espalier train RUN.yaml`
            : "No run fits the search, the tags and what is hidden or archived."}
        </p>
      ) : (
        <table class="runs" aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Select all runs in the list"
                  checked={rows.every((run) => selected.includes(run.id))}
                  onChange={(event) =>
                    setView({ runs: event.currentTarget.checked ? rows.map((run) => run.id) : [] }, false)
                  }
                />
              </th>
              {Object.entries(columns).map(([id, { title }]) => (
                <Heading key={id} id={id} title={title} sort={sort} />
              ))}
              <th scope="col">{spark}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((run) => (
              <Row key={run.id} run={run} selected={selected.includes(run.id)} />
            ))}
          </tbody>
        </table>
      )}
      {rows.length > most && limit >= most && (
        <button type="button" onClick={() => setMost(most + rowsUnasked)}>
          Show more: {rows.length - most} left
        </button>
      )}
    </>
  );
}

function Heading({
  id,
  title,
  sort,
}: {
  readonly id: string;
  readonly title: string;
  readonly sort: string;
}) {
  const order = sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined;
  const sign = { ascending: " ▲", descending: " ▼", none: "" }[order ?? "none"];
  return (
    <th scope="col" {...(order ? { "aria-sort": order } : {})}>
      <button type="button" onClick={() => setView({ sort: order === "descending" ? id : `-${id}` })}>
        {title}
        <span aria-hidden="true">{sign}</span>
      </button>
    </th>
  );
}

/** A row is made anew only when its run or its selection changed: a heartbeat of one leaves the others. */
const Row = memo(({ run, selected }: { readonly run: RunSummary; readonly selected: boolean }) => (
  <tr class={run.archived ? "archived" : ""}>
    <td>
      <input
        type="checkbox"
        aria-label={`Select ${run.name} ${run.id}`}
        checked={selected}
        onChange={() => {
          const { runs: before } = view.peek();
          setView({ runs: selected ? before.filter((id) => id !== run.id) : [...before, run.id] }, false);
        }}
      />
    </td>
    <th scope="row">
      <a href={`#run=${encodeURIComponent(run.id)}`} onClick={(event) => follow(event, run.id)}>
        {run.name}
      </a>
      <small class="id">{run.id}</small>
      {run.sweep && <small> sweep {run.sweep}</small>}
      {run.tags.map((tag) => (
        <TagButton key={tag} tag={tag} />
      ))}
    </th>
    {Object.values(columns).map(
      ({ title, cell }) =>
        cell && (
          <td key={title} data-label={title}>
            {cell(run)}
          </td>
        ),
    )}
    <td data-label="Spark">
      <Spark run={run} />
    </td>
  </tr>
));

/** A plain click keeps the rest of the view; others, as for a new tab, are the browser's. */
function follow(event: MouseEvent, run: string): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  setView({ run, runs: [], zoom: undefined });
}

export const State = ({ run }: { readonly run: RunSummary }) => (
  <span class={`state ${run.state}`} title={run.reason}>
    <span aria-hidden="true">{stateSigns[run.state]}</span> {run.state}
  </span>
);

export const Progress = ({ run }: { readonly run: RunSummary }) =>
  run.progress === undefined ? null : (
    <span class="progress">
      <progress aria-label={`Progress of ${run.name}`} max={1} value={run.progress} />{" "}
      {Math.floor(run.progress * 100)}%
    </span>
  );

export function countersText({ counters }: RunSummary): string {
  const counted = Object.entries(counters).filter(([, count]) => count > 0);
  return counted.map(([name, count]) => `${name} ${formatNumber(count)}`).join(" · ");
}

export const Age = ({ at }: { readonly at: number }) => <>{formatAge(now.value - at)}</>;

export function Duration({ run }: { readonly run: RunSummary }) {
  const end = run.endedAt ?? (run.state === "lost" ? run.heartbeat : undefined) ?? now.value;
  return <>{formatDuration(end - run.startedAt)}</>;
}

export function TagButton({ tag }: { readonly tag: string }) {
  const tags = useComputed(() => view.value.tags).value;
  const on = tags.includes(tag);
  const next = on ? tags.filter((one) => one !== tag) : [...tags, tag];
  return (
    <button
      type="button"
      class="tag"
      aria-pressed={on}
      title={`Only runs tagged ${tag}`}
      onClick={() => setView({ tags: next })}
    >
      {tag}
    </button>
  );
}

function Selection({ selected }: { readonly selected: readonly RunSummary[] }) {
  const ids = selected.map((run) => run.id);
  return (
    <fieldset class="toolbar selection" aria-label="Selected runs">
      <strong>{selected.length} selected</strong>
      <a class="button" href={formatView({ ...view.value, run: ids[0], runs: ids, tab: "charts" })}>
        Overlay in charts
      </a>
      <RunActions selected={selected} />
      <button type="button" onClick={() => setView({ runs: [] }, false)}>
        Clear selection
      </button>
    </fieldset>
  );
}

/** What can be done with runs: hide, archive, tag, delete. All but hiding need the token. */
export function RunActions({ selected }: { readonly selected: readonly RunSummary[] }) {
  const [dialog, setDialog] = useState<"tags" | "delete">();
  if (isReport || selected.length === 0) return null;
  const title = "Needs the token: open the link that `espalier dashboard` printed.";
  const guard = session.value?.control ? {} : { disabled: true, title };
  const archived = selected.every((run) => run.archived);
  const ids = selected.map((run) => run.id);
  const name = selected.length === 1 ? selected[0]?.name : `${selected.length} runs`;
  const tags = (selected[0]?.tags ?? []).filter((tag) => selected.every((run) => run.tags.includes(tag)));
  const close = () => setDialog(undefined);
  return (
    <span class="buttons">
      <button type="button" onClick={() => hide(ids)}>
        Hide
      </button>
      <button type="button" {...guard} onClick={() => void mark(selected, () => ({ archived: !archived }))}>
        {archived ? "Restore" : "Archive"}
      </button>
      <button type="button" {...guard} onClick={() => setDialog("tags")}>
        Tags …
      </button>
      <button type="button" class="danger" {...guard} onClick={() => setDialog("delete")}>
        Delete …
      </button>
      {dialog === "tags" && (
        <Question
          title={`Tags of ${name}`}
          label="Tags, with commas between"
          text={tags.join(", ")}
          action="Save"
          onAnswer={(text) => void mark(selected, (run) => ({ tags: changeTags(run, tags, text) }))}
          onClose={close}
        />
      )}
      {dialog === "delete" && (
        <Question
          title={`Delete ${name}?`}
          label="Metrics, checkpoints, replays and logs are deleted for good. To confirm, type"
          wanted={selected.length === 1 ? ids[0] : name}
          action="Delete"
          onAnswer={() => void remove(ids)}
          onClose={close}
        />
      )}
    </span>
  );
}

function hide(ids: readonly string[]): void {
  const { hidden, run, runs: before } = view.peek();
  setView({ hidden: [...new Set([...hidden, ...ids])], runs: run === undefined ? [] : before }, false);
}

async function mark(selected: readonly RunSummary[], marks: (run: RunSummary) => Marks): Promise<void> {
  for (const run of selected) {
    const path = `/api/runs/${encodeURIComponent(run.id)}/marks`;
    const marked = await send<RunSummary>("POST", path, marks(run));
    if (marked) takeRuns([marked]);
  }
}

/** The tags that all selected runs had become those of the text; others of the run stay. */
function changeTags(run: RunSummary, before: readonly string[], text: string): readonly string[] {
  const wanted = text.split(",").map((tag) => tag.trim());
  const kept = run.tags.filter((tag) => !before.includes(tag));
  return [...new Set([...kept, ...wanted])].filter((tag) => tag !== "");
}

async function remove(ids: readonly string[]): Promise<void> {
  const gone: string[] = [];
  for (const id of ids.map(encodeURIComponent))
    if (await send("DELETE", `/api/runs/${id}?confirm=${id}`)) gone.push(decodeURIComponent(id));
  takeRuns([], gone);
  const { run, runs: others } = view.peek();
  setView({
    run: run && gone.includes(run) ? undefined : run,
    runs: others.filter((id) => !gone.includes(id)),
  });
}

interface QuestionProps {
  readonly title: string;
  readonly label: string;
  readonly text?: string;
  /** The only text that is taken. */
  readonly wanted?: string | undefined;
  readonly action: string;
  readonly onAnswer: (text: string) => void;
  readonly onClose: () => void;
}

function Question({ title, label, text: before = "", wanted, action, onAnswer, onClose }: QuestionProps) {
  const [text, setText] = useState(before);
  return (
    <Dialog title={title} onClose={onClose}>
      <form method="dialog" onSubmit={() => onAnswer(text)}>
        <label>
          <span>
            {label} <b>{wanted}</b>
          </span>
          <input autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="buttons">
          <button type="submit" disabled={wanted !== undefined && text.trim() !== wanted}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

interface DialogBoxProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog over the page, with its focus kept inside. */
export function Dialog({ title, onClose, children }: DialogBoxProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

// Spark lines are asked for together, and only for rows in sight.
const sparks = signal<Sparks>({});
const inSight = new Map<Element, string>();
const sparksDue = new Set<string>();
let sparkKey = "";
let sparkTimer: ReturnType<typeof setTimeout> | undefined;
const sparkSight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const id = (target as HTMLElement).dataset.run ?? "";
    if (isIntersecting) inSight.set(target, id);
    else inSight.delete(target);
    if (isIntersecting && !Object.hasOwn(sparks.peek(), id)) sparksDue.add(id);
  }
  askSparks(20);
});
// Live updates of the list carry no metrics: runs that move are asked for again, slowly.
onLive("runs", ({ changed }) => {
  for (const run of changed) sparksDue.add(run.id);
  if (!sparkTimer) askSparks(10_000);
});

function askSparks(delay: number): void {
  clearTimeout(sparkTimer);
  sparkTimer = setTimeout(async () => {
    sparkTimer = undefined;
    const due = [...new Set(inSight.values())].filter((id) => sparksDue.delete(id));
    if (due.length === 0) return;
    const key = sparkKey;
    const query = new URLSearchParams([["key", key], ...due.map((id) => ["run", id])]);
    const found = await get<Sparks>(`/api/sparks?${query}`).catch((): Sparks => ({}));
    const none = Object.fromEntries(due.map((id) => [id, []]));
    if (key === sparkKey) sparks.value = { ...sparks.peek(), ...none, ...found };
  }, delay);
}

function Spark({ run }: { readonly run: RunSummary }) {
  const element = useRef<HTMLSpanElement>(null);
  const key = useComputed(() => view.value.spark).value;
  const values = useComputed(() => sparks.value[run.id]).value ?? [];
  useEffect(() => {
    const own = element.current;
    if (!own) return;
    if (key !== sparkKey) {
      sparkKey = key;
      sparks.value = {};
    }
    sparkSight.observe(own);
    return () => {
      sparkSight.unobserve(own);
      inSight.delete(own);
    };
  }, [run.id, key]);
  const finite = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const x = (i: number) => 1 + (118 * i) / Math.max(1, values.length - 1);
  const y = (value: number) => 22 - (20 * (value - low)) / (high - low || 1);
  const points = values.flatMap((value, i) => (value === null ? [] : [`${x(i)},${y(value)}`]));
  const last = formatNumber(finite.at(-1));
  return (
    <span class="spark" data-run={run.id} ref={element}>
      {finite.length > 0 && (
        <svg viewBox="0 0 120 24" role="img" aria-label={`${key} of ${run.name}: last ${last}`}>
          <polyline points={points.join(" ")} />
        </svg>
      )}
      <small>{last}</small>
    </span>
  );
}
