// The tab "Replays": recorded episodes, played as pictures. A picture is an SVG document in an image, where it can
// neither run scripts nor request anything.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Film, ReplaySummary, RunDetail } from "../api.ts";
import { useApi } from "./client.ts";
import { formatNumber, formatTime } from "./format.ts";
import { apiOf, Button, Loaded, Table, useFresh } from "./table.tsx";
import { setView, view } from "./view.ts";

export function ReplaysView({ run }: { run: RunDetail }) {
  const answer = useFresh<readonly ReplaySummary[]>(run.id, "replays", "replay");
  const chosen = view.value.item;
  return (
    <Loaded answer={answer}>
      {(rows) => (
        <>
          {chosen !== "" && <Player key={chosen} path={apiOf(run.id, "replays", chosen)} name={chosen} />}
          <Table
            caption="Replays"
            rows={rows}
            keyOf={({ name }) => name}
            empty="No episode was recorded."
            columns={[
              { title: "Replay", cell: ({ name }) => name },
              { title: "Step", number: true, cell: ({ step }) => formatNumber(step) },
              { title: "Recorded", cell: ({ at }) => formatTime(at) },
              { title: "Length", number: true, cell: ({ steps }) => formatNumber(steps) },
              { title: "Return", number: true, cell: (row) => formatNumber(row.return) },
              {
                title: "Watch",
                cell: ({ name }) => (
                  <Button label={`Watch ${name}`} on={() => setView({ item: name })}>
                    Watch
                  </Button>
                ),
              },
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

function Player({ path, name }: { path: string; name: string }) {
  const answer = useApi<Film>(path);
  return (
    <section class="panel" aria-label={`Replay ${name}`}>
      <h3>{name}</h3>
      <Loaded answer={answer}>
        {(film) =>
          film.frames.length === 0 ? (
            <p class="note">It has no pictures.</p>
          ) : (
            <Frames film={film} name={name} />
          )
        }
      </Loaded>
    </section>
  );
}

const speeds = [0.25, 0.5, 1, 2, 4, 8];

/** On the slider, space plays and pauses; the arrow keys, Home and End go from picture to picture. */
function Frames({ film: { fps, frames }, name }: { film: Film; name: string }) {
  const last = frames.length - 1;
  const [frame, setFrame] = useState(0);
  const [playing, setPlaying] = useState(true);
  /** As `playing`, but at once: a picture that is due must not follow a key that stops. */
  const moving = useRef(true);
  const [speed, setSpeed] = useState(1);
  const passed = useRef(0);
  const slider = useRef<HTMLInputElement>(null);
  useEffect(() => {
    slider.current?.focus();
    slider.current?.closest(".panel")?.scrollIntoView({ block: "nearest" });
  }, []);
  useEffect(() => {
    if (!playing) return;
    let [request, before] = [0, performance.now()];
    const tick = (time: number) => {
      passed.current += ((time - before) / 1000) * fps * speed;
      before = time;
      const steps = Math.floor(passed.current);
      passed.current -= steps;
      if (moving.current && steps > 0) setFrame((now) => Math.min(last, now + steps));
      if (moving.current) request = requestAnimationFrame(tick);
    };
    request = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(request);
  }, [playing, speed, fps, last]);
  useEffect(() => {
    if (frame === last) move(false);
  }, [frame, last]);

  const move = (on: boolean) => {
    moving.current = on;
    setPlaying(on);
  };
  const play = () => {
    if (frame === last) setFrame(0);
    move(!playing || frame === last);
  };
  const show = (next: number) => {
    move(false);
    setFrame(next);
  };
  return (
    <div class="player">
      <img
        src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(frames[frame] ?? "")}`}
        alt={`Frame ${frame + 1} of ${frames.length} of ${name}`}
      />
      <div class="toolbar">
        <Button on={play}>{playing ? "Pause" : "Play"}</Button>
        <input
          class="grow"
          type="range"
          min={0}
          max={last}
          value={frame}
          aria-label="Frame"
          aria-valuetext={`Frame ${frame + 1} of ${frames.length}`}
          ref={slider}
          onKeyDown={(event) => {
            if (event.key !== " ") return;
            event.preventDefault();
            play();
          }}
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
        <output>{`${frame + 1} / ${frames.length}`}</output>
        <label>
          Speed{" "}
          <select value={speed} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
            {speeds.map((times) => (
              <option key={times} value={times}>{`${times}×`}</option>
            ))}
          </select>
        </label>
      </div>
    </div>
  );
}
