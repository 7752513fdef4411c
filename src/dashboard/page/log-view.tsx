// The tab "Log": the newest lines, and those that come while it is followed.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LogPart, RunDetail } from "../api.ts";
import { onLive, useApi } from "./client.ts";
import { apiOf, Check, Loaded } from "./elements.tsx";
import { withNewer } from "./log-lines.ts";

export function LogView({ run }: { readonly run: RunDetail }) {
  const answer = useApi<LogPart>(apiOf(run.id, "log"));
  const [follow, setFollow] = useState(true);
  const [{ lines }, setHeld] = useState<LogPart>({ lines: [], from: 0, to: 0 });
  const box = useRef<HTMLDivElement>(null);
  /** What came live last: lines may come before the answer that they follow is there. */
  const came = useRef<readonly LogPart[]>([]);
  useEffect(() => {
    if (!follow) return;
    let held = answer.data;
    const grow = (parts: readonly LogPart[]) => {
      for (const part of parts) {
        if (!held) return;
        held = withNewer(held, part);
        if (!held) answer.reload();
      }
      if (held) setHeld(held);
    };
    grow(came.current);
    return onLive("log", (event) => {
      if (event.run !== run.id) return;
      came.current = [...came.current.slice(-20), event];
      grow([event]);
    });
  }, [run.id, follow, answer.data]);
  useLayoutEffect(() => {
    if (follow) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [lines, follow]);
  const changeFollow = (on: boolean) => {
    setFollow(on);
    if (on) answer.reload();
  };
  /** Scrolling up stops following, so that what is read does not move. */
  const onScroll = ({ currentTarget: box }: { readonly currentTarget: Element }) =>
    box.scrollHeight - box.scrollTop - box.clientHeight > 4 && setFollow(false);
  if (!answer.data) return <Loaded answer={answer}>{() => null}</Loaded>;
  return (
    <>
      <p class="toolbar">
        <Check label="Follow" checked={follow} on={changeFollow} />
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <div class="log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Log" onScroll={onScroll}>
        {lines.length === 0 && <p class="note">No lines yet.</p>}
        {lines.map((line, i) => (
          <div key={i}>{line}</div>
        ))}
      </div>
    </>
  );
}
