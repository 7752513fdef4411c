import { expect, it, vi } from "vitest";
import { eventsOf } from "./stream.ts";

/** A stream that the test writes to, and whether its reader has gone. */
function written() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const gone = vi.fn();
  const stream = new ReadableStream<Uint8Array>({
    start: (own) => {
      controller = own;
    },
    cancel: gone,
  });
  return { stream, gone, write: (text: string) => controller?.enqueue(new TextEncoder().encode(text)) };
}

it("joins events that come in pieces, and passes over comments", async () => {
  const { stream, write } = written();
  write(': here\n\nevent: runs\ndata: {"gone"');
  write(':["ä"]}\n\nevent: log\ndata: {"from":1}\n\n');
  const events = eventsOf(stream, 1000);
  expect((await events.next()).value).toEqual(["runs", { gone: ["ä"] }]);
  expect((await events.next()).value).toEqual(["log", { from: 1 }]);
  await events.return(undefined);
});

it("takes what other programs see as the end of a line as a character", async () => {
  const { stream, write } = written();
  write('event: runs\ndata: {"tag":"a\u2028b\u0085c"}\n\n');
  const events = eventsOf(stream, 1000);
  expect((await events.next()).value).toEqual(["runs", { tag: "a\u2028b\u0085c" }]);
  await events.return(undefined);
});

it("ends when nothing has come for too long, and not while comments come", async () => {
  vi.useFakeTimers();
  try {
    const { stream, gone, write } = written();
    const end = eventsOf(stream, 40_000).next();
    for (let i = 0; i < 10; i += 1) {
      await vi.advanceTimersByTimeAsync(15_000);
      write(": here\n\n");
    }
    expect(gone).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await end).toEqual({ done: true, value: undefined });
    expect(gone).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
