// The tab "Log": the newest lines, those that come, and older ones on scrolling up.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LiveEvents, LogPart, RunDetail } from "../api.ts";
import { asApiError, get, notify, onLive, useApi } from "./client.ts";
import { type LogWindow, linesIn, withNewer, withOlder } from "./log-lines.ts";
import { apiOf, Button, Loaded } from "./table.tsx";

export function LogView({ run }: { run: RunDetail }) {
  const path = apiOf(run.id, "log");
  const answer = useApi<LogPart>(path);
  /** Lines that came live. The last ones are kept, for they may come while a part of the log is asked for. */
  const [came, setCame] = useState<readonly NewLines[]>([]);
  useEffect(
    () =>
      onLive("log", (event) => event.run === run.id && setCame((before) => [...before.slice(-20), event])),
    [run.id],
  );
  return (
    <Loaded answer={answer}>
      {(part) => <Lines path={path} part={part} came={came} reload={answer.reload} />}
    </Loaded>
  );
}

type NewLines = LiveEvents["log"];

interface LinesProps {
  readonly path: string;
  readonly part: LogPart;
  readonly came: readonly NewLines[];
  readonly reload: () => void;
}

function Lines({ path, part, came, reload }: LinesProps) {
  const [held, setHeld] = useState<LogWindow>([part]);
  const [follow, setFollow] = useState(true);
  const [search, setSearch] = useState("");
  /** Which of the lines that were found is looked at; -1 before the first. */
  const [chosen, choose] = useState(-1);
  const box = useRef<HTMLDivElement>(null);
  const asking = useRef(false);
  /** The distance from the end of the text, kept while older lines are put in front. */
  const fromEnd = useRef<number | undefined>(undefined);

  useEffect(() => setHeld(withNewer([], part) ?? []), [part]);
  useEffect(() => {
    let grown: LogWindow | undefined = held;
    for (const event of came) grown = grown && withNewer(grown, event);
    if (grown) setHeld(grown);
    else if (follow) reload();
  }, [came, held]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (fromEnd.current !== undefined) element.scrollTop = element.scrollHeight - fromEnd.current;
    else if (follow) element.scrollTop = element.scrollHeight;
    fromEnd.current = undefined;
  }, [held, follow]);

  const from = held[0]?.from ?? 0;
  const lines = linesIn(held);
  const older = async () => {
    const element = box.current;
    if (!element || asking.current || from === 0) return;
    asking.current = true;
    try {
      const found = await get<LogPart>(`${path}?before=${from}`);
      fromEnd.current = element.scrollHeight - element.scrollTop;
      setHeld((now) => withOlder(now, found));
    } catch (error) {
      notify(asApiError(error));
    } finally {
      asking.current = false;
    }
  };
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 4;
    // Scrolling up leaves the end; scrolling back to it does not follow again, for newer lines may be missing here.
    if (!atEnd && follow) setFollow(false);
    if (element.scrollTop < 100) void older();
  };
  const word = search.toLowerCase();
  const matches = word === "" ? [] : lines.filter(({ text }) => text.toLowerCase().includes(word));
  const at = matches[chosen % matches.length]?.key;
  const find = (event: Event) => {
    event.preventDefault();
    const next = matches[(chosen + 1) % matches.length];
    if (!next) return;
    setFollow(false);
    choose(chosen + 1);
    box.current?.querySelector(`[data-line="${next.key}"]`)?.scrollIntoView({ block: "center" });
  };
  const found = new Set(matches);
  return (
    <>
      <form class="toolbar" onSubmit={find}>
        <label>
          <input
            type="checkbox"
            checked={follow}
            onChange={(event) => {
              setFollow(event.currentTarget.checked);
              if (event.currentTarget.checked) reload();
            }}
          />{" "}
          Follow
        </label>
        <label>
          Find{" "}
          <input
            type="search"
            value={search}
            onInput={(event) => {
              setSearch(event.currentTarget.value);
              choose(-1);
            }}
          />
        </label>
        <button type="submit" disabled={matches.length === 0}>
          Next
        </button>
        <span aria-live="polite">{word === "" ? "" : `${matches.length} lines`}</span>
        <Button off={from === 0} on={older}>
          Older lines
        </Button>
      </form>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <div class="log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Log" onScroll={scrolled}>
        {lines.length === 0 && <p class="note">No lines yet.</p>}
        {lines.map((line) => (
          <div
            key={line.key}
            data-line={line.key}
            class={found.has(line) ? "match" : undefined}
            aria-current={line.key === at}
          >
            {line.text}
          </div>
        ))}
      </div>
    </>
  );
}
