// Tabs over what lies in the directory of a run: checkpoints, recorded episodes, the log.
import { useLayoutEffect, useState } from "preact/hooks";
import { bytesText } from "../../core/index.ts";
import type {
  CheckpointDetail,
  CheckpointSummary,
  Film,
  LogPart,
  ReplaySummary,
  RunDetail,
  Verified,
} from "../api.ts";
import { apiOf, changesOfRun, emit, isReport, onLive, send, session } from "./client.ts";
import { askedAt, Button, Loaded, Table } from "./elements.tsx";
import { formatNumber, formatTime } from "./format.ts";
import { withNewer } from "./log-lines.ts";
import { setView, view } from "./view.ts";

/** What was saved, what lies in it, whether it is whole, and what is never deleted. */
export function CheckpointsView({ run }: { readonly run: RunDetail }) {
  const chosen = view.value.item;
  const [verdicts, setVerdicts] = useState<Readonly<Record<string, string>>>({});
  const verify = async (name: string) => {
    setVerdicts((before) => ({ ...before, [name]: "being read…" }));
    const found = await send<Verified>("POST", apiOf(run.id, "checkpoints", name, "verify"), {});
    const said = found ? found.problems.join("; ") || "whole" : "not verified";
    setVerdicts((before) => ({ ...before, [name]: said }));
  };
  const protect = async (name: string, on: boolean) => {
    await send("POST", apiOf(run.id, "checkpoints", name, "protect"), { protected: on });
    emit("event", { run: run.id, kind: "checkpoint" });
  };
  const off = session.value?.control !== true;
  const actions = ({ name, protected: kept }: CheckpointSummary) => {
    const open = chosen === name;
    const keep = kept ? "Protected" : "Protect";
    const inspect = () => setView({ item: open ? "" : name });
    return (
      <span class="buttons">
        <Button text="Inspect" aria-label={`Inspect ${name}`} aria-expanded={open} on={inspect} />
        {!isReport && (
          <>
            <Button text="Verify" aria-label={`Verify ${name}`} disabled={off} on={() => verify(name)} />
            <Button
              text={keep}
              aria-label={`${keep} ${name}`}
              disabled={off}
              aria-pressed={kept}
              on={() => protect(name, !kept)}
            />
          </>
        )}
        <span aria-live="polite">{verdicts[name]}</span>
      </span>
    );
  };
  return (
    <>
      {off && !isReport && (
        <p class="note">Verifying and protecting need the address with the token that was printed.</p>
      )}
      <Loaded<readonly CheckpointSummary[]>
        path={apiOf(run.id, "checkpoints")}
        live={askedAt(run.id, "checkpoint")}
      >
        {(rows) => (
          <>
            <Table
              caption="Checkpoints"
              rows={rows}
              empty="No checkpoint is here."
              columns={[
                { title: "Name", cell: ({ name }) => name },
                { title: "Step", number: true, cell: ({ counters }) => formatNumber(counters?.steps) },
                { title: "Saved", cell: ({ savedAt }) => savedAt && formatTime(Date.parse(savedAt)) },
                { title: "Size", number: true, cell: ({ bytes }) => bytes && bytesText(bytes) },
                {
                  title: "Scores",
                  cell: ({ metrics }) => <span class="break">{fewScoresText(metrics)}</span>,
                },
                { title: "Actions", cell: actions },
              ]}
            />
            {chosen !== "" && <Inside run={run.id} name={chosen} />}
          </>
        )}
      </Loaded>
    </>
  );
}

type Numbers = Readonly<Record<string, number>>;

const fewScoresText = (metrics: Numbers = {}): string => {
  const scores = Object.entries(metrics).filter(([key]) => /^(evaluation|validation|rollout)\//.test(key));
  return numbersText(Object.fromEntries(scores.slice(0, 4)));
};

const numbersText = (numbers: Numbers = {}): string =>
  Object.entries(numbers)
    .map(([name, value]) => `${name} ${formatNumber(value)}`)
    .join(", ");

/** Counters and components of a checkpoint; tensors and values of each component unfold. */
function Inside({ run, name }: { readonly run: string; readonly name: string }) {
  return (
    <section class="panel" aria-label={`Inside ${name}`}>
      <h3>{name}</h3>
      <Loaded<CheckpointDetail> path={apiOf(run, "checkpoints", name)}>
        {({ counters, metrics, components }) => (
          <>
            <p>{numbersText(counters)}</p>
            <p class="note">{numbersText(metrics)}</p>
            {components.map((component) => (
              <details key={component.name}>
                <summary>
                  {component.name}, {bytesText(component.bytes)}, {component.tensors.length} tensors
                </summary>
                <p class="note">sha256 {component.sha256}</p>
                <Table
                  caption={`Contents of ${component.name}`}
                  rows={contentsOf(component)}
                  columns={[
                    { title: "Path", cell: ([path]) => path },
                    { title: "Is", cell: ([, what]) => <span class="break">{what}</span> },
                  ]}
                />
              </details>
            ))}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Tensors with type and shape, then values. */
const contentsOf = ({ tensors, values }: CheckpointDetail["components"][number]) => [
  ...tensors.map(({ path, dtype, shape }) => [path, `${dtype} [${shape.join(", ")}]`] as const),
  ...Object.entries(values).map(([path, value]) => [path, JSON.stringify(value)] as const),
];

/** Recorded episodes, played as pictures: SVG documents in an image can neither run scripts nor request anything. */
export function ReplaysView({ run }: { readonly run: RunDetail }) {
  const chosen = view.value.item;
  const watch = (name: string) => (
    <Button text="Watch" aria-label={`Watch ${name}`} on={() => setView({ item: name })} />
  );
  return (
    <Loaded<readonly ReplaySummary[]> path={apiOf(run.id, "replays")} live={askedAt(run.id, "replay")}>
      {(rows) => (
        <>
          {chosen !== "" && (
            <section class="panel" aria-label={`Replay ${chosen}`}>
              <h3>{chosen}</h3>
              <Loaded<Film> path={apiOf(run.id, "replays", chosen)}>
                {(film) => <Frames key={chosen} {...film} name={chosen} />}
              </Loaded>
            </section>
          )}
          <Table
            caption="Replays"
            rows={rows}
            empty="No episode was recorded."
            columns={[
              { title: "Replay", cell: ({ name }) => name },
              { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
              { title: "Recorded", cell: ({ at }) => formatTime(at) },
              { title: "Length", number: true, cell: ({ steps }) => formatNumber(steps) },
              { title: "Return", number: true, cell: (row) => formatNumber(row.return) },
              { title: "Watch", cell: ({ name }) => watch(name) },
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

/** Pictures in a row. Space on the slider plays and pauses; arrow keys, Home and End go from picture to picture. */
function Frames({ fps, frames, name }: Film & { readonly name: string }) {
  const last = frames.length - 1;
  const [frame, setFrame] = useState(0);
  const [playing, setPlaying] = useState(true);
  // In the layout, so that no picture that is due follows a key that stops.
  useLayoutEffect(() => {
    if (!playing) return;
    if (frame >= last) return setPlaying(false);
    const timer = setTimeout(() => setFrame(frame + 1), 1000 / fps);
    return () => clearTimeout(timer);
  }, [playing, frame]);
  const play = () => {
    if (frame === last) setFrame(0);
    setPlaying(!playing);
  };
  const show = (next: number) => {
    setPlaying(false);
    setFrame(next);
  };
  if (last < 0) return <p class="note">It has no pictures.</p>;
  return (
    <div class="player">
      <img
        src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(frames[frame] ?? "")}`}
        alt={`Frame ${frame + 1} of ${frames.length} of ${name}`}
      />
      <div class="toolbar">
        <Button text={playing ? "Pause" : "Play"} on={play} />
        <input
          class="grow"
          type="range"
          min={0}
          max={last}
          value={frame}
          aria-label="Frame"
          onKeyDown={(event) => {
            if (event.key !== " ") return;
            event.preventDefault();
            play();
          }}
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
        <output>{`${frame + 1} / ${frames.length}`}</output>
      </div>
    </div>
  );
}

/** The newest lines, and those that come: the box stays at its end, or where somebody has scrolled to. */
export function LogView({ run }: { readonly run: RunDetail }) {
  const live = changesOfRun<LogPart>(run.id, (change) =>
    onLive("log", (part) => part.run === run.id && change((held) => withNewer(held, part))),
  );
  return (
    <Loaded<LogPart> path={apiOf(run.id, "log")} live={live}>
      {({ lines }) => (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard.
        <div class="log" tabIndex={0} role="log" aria-live="off" aria-label="Log">
          <div>
            {lines.length === 0 ? "No lines yet." : lines.map((line, i) => <div key={i}>{line}</div>)}
          </div>
        </div>
      )}
    </Loaded>
  );
}
