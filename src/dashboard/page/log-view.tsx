// The tab "Log": the newest lines, those that come while it is followed, and older ones when asked for.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LogPart, RunDetail } from "../api.ts";
import { get, notify, onLive, useApi } from "./client.ts";
import { apiOf, Button, Check, Loaded } from "./elements.tsx";
import { withNewer } from "./log-lines.ts";

export function LogView({ run }: { readonly run: RunDetail }) {
  const path = apiOf(run.id, "log");
  const answer = useApi<LogPart>(path);
  const [follow, setFollow] = useState(true);
  /** Parts that follow one another in the file. */
  const [parts, setParts] = useState<readonly LogPart[]>([]);
  const box = useRef<HTMLDivElement>(null);
  /** The distance from the end of the text, kept while older lines are put in front. */
  const fromEnd = useRef<number | undefined>(undefined);
  /** What came live last: lines may come before the answer that they follow is there. */
  const came = useRef<readonly LogPart[]>([]);
  useEffect(() => {
    if (!follow) return;
    let held: readonly LogPart[] = [];
    const grow = (more: readonly LogPart[]) => {
      for (const part of more) {
        const grown = withNewer(held, part);
        if (!grown) return answer.reload();
        held = grown;
      }
      setParts(held);
    };
    if (answer.data) grow([answer.data, ...came.current]);
    return onLive("log", (event) => {
      if (event.run !== run.id) return;
      came.current = [...came.current.slice(-20), event];
      if (answer.data) grow([event]);
    });
  }, [run.id, follow, answer.data]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (fromEnd.current !== undefined) element.scrollTop = element.scrollHeight - fromEnd.current;
    else if (follow) element.scrollTop = element.scrollHeight;
    fromEnd.current = undefined;
  }, [parts, follow]);
  const from = parts[0]?.from ?? 0;
  const older = async () => {
    setFollow(false);
    const found = await get<LogPart>(`${path}?before=${from}`).catch(notify);
    const element = box.current;
    if (!found || !element) return;
    fromEnd.current = element.scrollHeight - element.scrollTop;
    setParts((held) => (held[0]?.from === found.to ? [found, ...held] : held));
  };
  const changeFollow = (on: boolean) => {
    setFollow(on);
    if (on) answer.reload();
  };
  /** Scrolling up stops following, so that what is read does not move. */
  const onScroll = ({
    currentTarget: { scrollHeight, scrollTop, clientHeight },
  }: {
    currentTarget: Element;
  }) => scrollHeight - scrollTop - clientHeight > 4 && setFollow(false);
  if (!answer.data) return <Loaded answer={answer}>{() => null}</Loaded>;
  return (
    <>
      <div class="toolbar">
        <Check label="Follow" checked={follow} on={changeFollow} />
        <Button text="Older lines" off={from === 0} on={older} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <div class="log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Log" onScroll={onScroll}>
        {parts.every(({ lines }) => lines.length === 0) && <p class="note">No lines yet.</p>}
        {parts.map((part) => part.lines.map((line, i) => <div key={`${part.from}-${i}`}>{line}</div>))}
      </div>
    </>
  );
}
