/**
 * Names and data of server-sent events, until the stream ends or nothing has come for some milliseconds. Each event is
 * two lines, `event: NAME` and `data: JSON`; comments between them are signs of life.
 */
export async function* eventsOf(
  stream: ReadableStream<Uint8Array>,
  silence: number,
): AsyncGenerator<readonly [name: string, data: unknown]> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    // A pending read ends when the reader is cancelled.
    const timer = setTimeout(() => void reader.cancel(), silence);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(part) ?? [];
      if (name !== undefined && data !== undefined) yield [name, JSON.parse(data)];
    }
  }
}
