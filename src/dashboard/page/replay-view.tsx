// The tab "Replays": recorded episodes, played as pictures. A picture is an SVG document in an image, where it can
// neither run scripts nor request anything.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Film, ReplaySummary, RunDetail } from "../api.ts";
import { useApi } from "./client.ts";
import { apiOf, Button, Loaded, Select, Table, useFresh } from "./elements.tsx";
import { formatNumber, formatTime } from "./format.ts";
import { setView, view } from "./view.ts";

export function ReplaysView({ run }: { readonly run: RunDetail }) {
  const answer = useFresh<readonly ReplaySummary[]>(run.id, "replays", "replay");
  const chosen = view.value.item;
  const watch = (name: string) => (
    <Button text="Watch" aria-label={`Watch ${name}`} on={() => setView({ item: name })} />
  );
  return (
    <Loaded answer={answer}>
      {(rows) => (
        <>
          {chosen !== "" && <Player key={chosen} run={run.id} name={chosen} />}
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

function Player({ run, name }: { readonly run: string; readonly name: string }) {
  const answer = useApi<Film>(apiOf(run, "replays", name));
  return (
    <section class="panel" aria-label={`Replay ${name}`}>
      <h3>{name}</h3>
      <Loaded answer={answer}>{(film) => <Frames {...film} name={name} />}</Loaded>
    </section>
  );
}

const speeds = [0.25, 0.5, 1, 2, 4, 8].map((speed) => [speed, `${speed}×`] as const);

/** Pictures in a row. Space on the slider plays and pauses; arrow keys, Home and End go from picture to picture. */
function Frames({ fps, frames, name }: Film & { readonly name: string }) {
  const last = frames.length - 1;
  const [frame, setFrame] = useState(0);
  const [playing, setPlaying] = useState(true);
  const [speed, setSpeed] = useState(1);
  const slider = useRef<HTMLInputElement>(null);
  useEffect(() => {
    slider.current?.focus();
    slider.current?.closest(".panel")?.scrollIntoView({ block: "nearest" });
  }, []);
  // In the layout, so that no picture that is due follows a key that stops.
  useLayoutEffect(() => {
    if (!playing) return;
    if (frame >= last) return setPlaying(false);
    const timer = setTimeout(() => setFrame(frame + 1), 1000 / (fps * speed));
    return () => clearTimeout(timer);
  }, [playing, frame, speed]);
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
          ref={slider}
          onKeyDown={(event) => {
            if (event.key !== " ") return;
            event.preventDefault();
            play();
          }}
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
        <output>{`${frame + 1} / ${frames.length}`}</output>
        <Select label="Speed" value={speed} options={speeds} on={setSpeed} />
      </div>
    </div>
  );
}
