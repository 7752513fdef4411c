// The list of runs: search, tags, sorting, spark lines, and what can be done with the selected ones.
import { computed, useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { amountText } from "../../core/index.ts";
import type { RunMarks, RunState, RunSummary, Series } from "../api.ts";
import { apiOf, emit, getSeries, isReport, notify, now, send, session } from "./client.ts";
import { AskingButton, Button, Check, type Column, Field, Missing, Table } from "./elements.tsx";
import { formatAge, formatDuration, formatNumber, formatTick, formatTime } from "./format.ts";
import { runs } from "./runs.ts";
import { linkTo, mostOverlaid, setView, toggled, view } from "./view.ts";

/** A column that the list can be sorted by. */
interface SortedColumn {
  readonly title: string;
  /** What it is sorted by. */
  readonly of: (run: RunSummary) => string | number;
  readonly cell: (run: RunSummary) => ComponentChildren;
}

/** The columns. The first one names the run; a narrow page has the first three. */
const sorted: Readonly<Record<string, SortedColumn>> = {
  name: { title: "Run", of: (run) => run.name.toLowerCase(), cell: (run) => <Name run={run} /> },
  state: { title: "State", of: (run) => run.state, cell: (run) => <State run={run} /> },
  progress: { title: "Progress", of: (run) => run.progress ?? -1, cell: (run) => <Progress run={run} /> },
  counters: {
    title: "Counters",
    of: (run) => Math.max(0, ...Object.values(run.counters)),
    cell: (run) => positionText(run, [run.counters.steps ? "steps" : "updates"]),
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

// They are the same for as long as the page is open, so that a heartbeat of one run leaves the rows of others.
const columns: readonly Column<RunSummary>[] = [
  ...Object.entries(sorted).map(([id, { title, cell }]) => ({
    title,
    head: <Heading id={id} title={title} />,
    cell,
  })),
  { title: "Spark line", head: <>{computed(() => view.value.spark)}</>, cell: (run) => <Spark run={run} /> },
];

/** The runs that the view asks for, in its order. */
export function listed(all: Iterable<RunSummary>): readonly RunSummary[] {
  const { search, tags, showArchived, hidden, sort } = view.value;
  const words = search.toLowerCase().split(/\s+/);
  const found = [...all].filter((run) => {
    if (hidden.includes(run.id) || (run.archived && !showArchived)) return false;
    const text = [run.name, run.id, run.state, ...run.tags].join("\n").toLowerCase();
    return words.every((word) => text.includes(word)) && tags.every((tag) => run.tags.includes(tag));
  });
  const id = sort.replace(/^-/, "");
  // What a link says may be no column.
  const column = Object.hasOwn(sorted, id) ? sorted[id] : undefined;
  const sign = sort.startsWith("-") ? -1 : 1;
  return found.sort((a, b) => {
    const [x, y] = [column?.of(a) ?? 0, column?.of(b) ?? 0];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

export function RunsList() {
  const all = runs.value;
  const { runs: selected } = view.value;
  if (!all) return <Missing error={undefined} />;
  const rows = listed(all.values());
  return (
    <>
      <SearchBar all={all} />
      {selected.length > 0 && <Selection selected={selected.flatMap((id) => all.get(id) ?? [])} />}
      <p class="toolbar">
        <Check
          label="Select all runs in the list"
          checked={rows.length > 0 && rows.every((run) => selected.includes(run.id))}
          on={(on) => setView({ runs: on ? rows.map((run) => run.id) : [] }, false)}
        />
        <span class="note" role="status">
          {rows.length} of {all.size} runs
        </span>
      </p>
      <Table
        caption="Runs"
        class="runs"
        columns={columns}
        rows={rows}
        keyOf={(run) => run.id}
        empty={
          all.size === 0
            ? `No runs yet in ${session.value?.directory}. Start one with: espalier train RUN.yaml`
            : "No run fits the search, the tags and what is hidden or archived."
        }
      />
    </>
  );
}

function SearchBar({ all }: { readonly all: ReadonlyMap<string, RunSummary> }) {
  const { hidden, search, tags, showArchived, spark } = view.value;
  const archived = [...all.values()].filter((run) => run.archived).length;
  const changeSpark = (event: { readonly currentTarget: HTMLInputElement }) =>
    setView({ spark: event.currentTarget.value.trim() || "train/loss" });
  return (
    <search class="toolbar">
      <input
        type="search"
        aria-label="Search runs"
        size={40}
        placeholder="Search name, id, tag or state (/)"
        value={search}
        onInput={(event) => setView({ search: event.currentTarget.value })}
      />
      <Field label="Spark line of" type="text" value={spark} onChange={changeSpark} />
      <Check
        label={`Archived (${archived})`}
        checked={showArchived}
        on={(on) => setView({ showArchived: on })}
      />
      {hidden.length > 0 && (
        <Button text={`Show ${hidden.length} hidden`} on={() => setView({ hidden: [] })} />
      )}
      <Tags tags={tags} />
    </search>
  );
}

function Heading({ id, title }: { readonly id: string; readonly title: string }) {
  const sort = useComputed(() => view.value.sort).value;
  const orders = new Map([
    [id, ["▲", "ascending"]],
    [`-${id}`, ["▼", "descending"]],
  ]);
  const [sign, order] = orders.get(sort) ?? ["", "not sorted"];
  return (
    <Button
      text={`${title} ${sign}`}
      aria-label={`${title}, ${order}`}
      on={() => setView({ sort: sort === `-${id}` ? id : `-${id}` })}
    />
  );
}

/** A link to a run that can be selected. */
function Name({ run: { id, name, sweep, tags, archived } }: { readonly run: RunSummary }) {
  const selected = useComputed(() => view.value.runs.includes(id)).value;
  return (
    <>
      <input
        type="checkbox"
        aria-label={`Select ${name} ${id}`}
        checked={selected}
        onChange={() => setView({ runs: toggled(view.peek().runs, id) }, false)}
      />{" "}
      <a href={linkTo({ run: id, runs: [], zoom: undefined })} class={archived ? "archived" : ""}>
        {name}
      </a>
      <small class="id"> {id} </small>
      {sweep && <small> sweep {sweep} </small>}
      <Tags tags={tags} />
    </>
  );
}

/** A state as a sign and words: colour alone would not reach everybody. */
const stateSigns: Readonly<Record<RunState, string>> = {
  running: "▶",
  paused: "⏸",
  completed: "✔",
  stopped: "■",
  interrupted: "⚡",
  failed: "✖",
  lost: "?",
};

const State = ({ run }: { readonly run: RunSummary }) => (
  <span class={`state ${run.state}`} title={run.reason}>
    <span aria-hidden="true">{stateSigns[run.state]}</span> {run.state}
  </span>
);

const Progress = ({ run: { name, progress } }: { readonly run: RunSummary }) =>
  progress === undefined ? null : (
    <span class="progress">
      <progress aria-label={`Progress of ${name}`} max={1} value={progress} /> {Math.floor(progress * 100)}%
    </span>
  );

/** Where a run is: the epoch that it is in, and other counters that have counted. */
function positionText({ counters, limits, state }: RunSummary, others: readonly string[]): string {
  const { epochs = 0 } = counters;
  const [of, begun] = [limits.epochs, state === "completed" ? 0 : 1];
  const epoch = `epoch ${formatNumber(Math.min(epochs + begun, of ?? Number.POSITIVE_INFINITY))}`;
  const counted = others.filter((name) => (counters[name] ?? 0) > 0);
  return [
    ...(epochs > 0 || of !== undefined ? [of === undefined ? epoch : `${epoch} of ${formatNumber(of)}`] : []),
    ...counted.map((name) => `${name} ${formatTick(counters[name] ?? 0)}`),
  ].join(" · ");
}

/** Counters beside epochs. */
const counters = ["batches", "updates", "samples", "steps"];

const Age = ({ at }: { readonly at: number }) => <>{formatAge(now.value - at)}</>;

function Duration({ run }: { readonly run: RunSummary }) {
  const end = run.endedAt ?? (run.state === "lost" ? run.heartbeat : undefined) ?? now.value;
  return <>{formatDuration(end - run.startedAt)}</>;
}

/** What the list says of a run, and more, in a row. */
export const RunFacts = ({ run }: { readonly run: RunSummary }) => (
  <>
    <State run={run} /> <Progress run={run} />
    <span>{positionText(run, counters)}</span>
    <span>
      started {formatTime(run.startedAt)}, <Duration run={run} />
    </span>
    {run.heartbeat !== undefined && !isReport && run.endedAt === undefined && (
      <span>
        heartbeat <Age at={run.heartbeat} />
      </span>
    )}
    {run.resumes > 0 && <span>resumed {amountText(run.resumes, "times")}</span>}
    <Tags tags={run.tags} />
  </>
);

function Tags({ tags }: { readonly tags: readonly string[] }) {
  const chosen = useComputed(() => view.value.tags).value;
  return (
    <>
      {tags.map((tag) => (
        <Button
          key={tag}
          class="tag"
          text={tag}
          title={`Only runs tagged ${tag}`}
          aria-pressed={chosen.includes(tag)}
          on={() => setView({ tags: toggled(chosen, tag) })}
        />
      ))}
    </>
  );
}

function Selection({ selected }: { readonly selected: readonly RunSummary[] }) {
  const ids = selected.map((run) => run.id);
  return (
    <fieldset class="toolbar selection" aria-label="Selected runs">
      <strong>{selected.length} selected</strong>
      <a href={linkTo({ run: ids[0], runs: ids.slice(0, mostOverlaid), tab: "charts" })}>
        Overlay {ids.length > mostOverlaid && `the first ${mostOverlaid} `}in charts
      </a>
      <RunActions selected={selected} />
      <Button text="Clear selection" on={() => setView({ runs: [] }, false)} />
    </fieldset>
  );
}

/** What can be done with runs: hide, archive, tag, delete. All but hiding need the token. */
export function RunActions({ selected }: { readonly selected: readonly RunSummary[] }) {
  if (isReport || selected.length === 0) return null;
  const off = session.value?.control !== true;
  const hint = off ? "Needs the token: open the link that `espalier dashboard` printed." : undefined;
  const archived = selected.every((run) => run.archived);
  const ids = selected.map((run) => run.id);
  const name = selected.length === 1 ? selected[0]?.name : `${selected.length} runs`;
  const tags = (selected[0]?.tags ?? []).filter((tag) => selected.every((run) => run.tags.includes(tag)));
  return (
    <span class="buttons">
      <Button text="Hide" on={() => hide(ids)} />
      <Button
        text={archived ? "Restore" : "Archive"}
        disabled={off}
        title={hint}
        on={() => mark(selected, () => ({ archived: !archived }))}
      />
      <AskingButton
        text="Tags …"
        disabled={off}
        hint={hint}
        title={`Tags of ${name}`}
        label="Tags, with commas between"
        initial={tags.join(", ")}
        action="Save"
        onAnswer={(text) => mark(selected, (run) => ({ tags: changeTags(run, tags, text) }))}
      />
      <AskingButton
        text="Delete …"
        class="danger"
        disabled={off}
        hint={hint}
        title={`Delete ${name}?`}
        label="Metrics, checkpoints, replays and logs are deleted for good. To confirm, type"
        wanted={selected.length === 1 ? ids[0] : name}
        action="Delete"
        onAnswer={() => remove(ids)}
      />
    </span>
  );
}

function hide(ids: readonly string[]): void {
  const { hidden, run, runs: before } = view.peek();
  setView({ hidden: [...new Set([...hidden, ...ids])], runs: run === undefined ? [] : before }, false);
}

async function mark(selected: readonly RunSummary[], marks: (run: RunSummary) => RunMarks): Promise<void> {
  for (const run of selected) {
    const marked = await send<RunSummary>("POST", apiOf(run.id, "marks"), marks(run));
    if (marked) emit("runs", { changed: [marked], anew: [], gone: [] });
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
  for (const id of ids)
    if (await send("DELETE", `${apiOf(id)}?confirm=${encodeURIComponent(id)}`)) gone.push(id);
  emit("runs", { changed: [], anew: [], gone });
  const { run, runs: others } = view.peek();
  const left = others.filter((id) => !gone.includes(id));
  setView({ run: run && gone.includes(run) ? undefined : run, runs: left });
}

/** Milliseconds after which the spark line of a run that moves is asked for again: the list has no metrics live. */
const sparkTime = 10_000;

function Spark({ run }: { readonly run: RunSummary }) {
  const key = useComputed(() => view.value.spark).value;
  const [series, setSeries] = useState<Series>();
  const moved = Math.floor((run.heartbeat ?? 0) / sparkTime);
  useEffect(() => {
    getSeries(run.id, key, { points: "40", axis: "step" }).then(setSeries, notify);
  }, [run.id, run.state, key, moved]);
  const values = series?.key === key ? series.mean : [];
  const finite = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const x = (i: number) => 1 + (118 * i) / Math.max(1, values.length - 1);
  const y = (value: number) => 22 - (20 * (value - low)) / (high - low || 1);
  const points = values.flatMap((value, i) => (value === null ? [] : [`${x(i)},${y(value)}`]));
  const last = formatNumber(finite.at(-1));
  return (
    <span class="spark">
      {finite.length > 0 && (
        <svg viewBox="0 0 120 24" width="120" role="img" aria-label={`${key} of ${run.name}: last ${last}`}>
          <polyline points={points.join(" ")} fill="none" stroke="var(--curve-0)" stroke-width="1.5" />
        </svg>
      )}
      <small>{last}</small>
    </span>
  );
}
