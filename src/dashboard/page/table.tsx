// What most views are made of: an answer of the API once it is there, tables, buttons, texts that scroll.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunEventKind, RunEvents } from "../../metrics/index.ts";
import { type Answer, onLive, useApi } from "./client.ts";

/** Shows an answer, that it is awaited, or why it did not come. */
export function Loaded<T>({
  answer,
  children,
}: {
  answer: Answer<T>;
  children: (data: T) => ComponentChildren;
}) {
  if (answer.data !== undefined) return <>{children(answer.data)}</>;
  if (answer.error === undefined) return <p class="note">Loading…</p>;
  return (
    <p class="note" role="alert">
      {answer.error.message} {answer.error.fix}
    </p>
  );
}

/** A column: its title, and a cell of it. Columns of numbers are aligned to the right. */
export interface Column<R> {
  readonly title: string;
  readonly cell: (row: R) => ComponentChildren;
  readonly number?: boolean;
}

interface TableProps<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly keyOf: (row: R, index: number) => string | number;
  /** What stands there without rows. */
  readonly empty?: string;
}

/** The most rows that are shown. */
const mostRows = 500;

/** A table whose first column names the row. Beyond 500 rows it says how many there are. */
export function Table<R>({ caption, columns, rows, keyOf, empty = "None yet." }: TableProps<R>) {
  if (rows.length === 0) return <p class="note">{empty}</p>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <section class="scroll-x" tabIndex={0} aria-label={caption}>
        <table class="data">
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ title, number }) => (
                <th key={title} scope="col" class={number ? "number" : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostRows).map((row, i) => (
              <tr key={keyOf(row, i)}>{columns.map((column, at) => cellOf(column, row, at))}</tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > mostRows && <p class="note">{`The first ${mostRows} of ${rows.length}.`}</p>}
    </>
  );
}

function cellOf<R>({ title, number, cell }: Column<R>, row: R, at: number): JSX.Element {
  const kind = number ? "number" : undefined;
  return at === 0 ? (
    <th key={title} scope="row" class={kind}>
      {cell(row)}
    </th>
  ) : (
    <td key={title} class={kind}>
      {cell(row)}
    </td>
  );
}

interface ButtonProps {
  readonly on: () => unknown;
  readonly off?: boolean;
  /** What a screen reader says, where the text on it is not enough. */
  readonly label?: string;
  /** Why it is off. */
  readonly title?: string | undefined;
  readonly class?: string;
  readonly expanded?: boolean;
  readonly pressed?: boolean;
  readonly children: ComponentChildren;
}

export const Button = ({ on, off, label, expanded, pressed, ...rest }: ButtonProps) => (
  <button
    type="button"
    onClick={() => void on()}
    disabled={off}
    aria-label={label}
    aria-expanded={expanded}
    aria-pressed={pressed}
    {...rest}
  />
);

/** Text as it is, in a box that scrolls. */
export const Text = ({ children }: { children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard.
  <pre class="text" tabIndex={0}>
    {children}
  </pre>
);

/** A path of the API about a run: `apiOf("7f3a", "checkpoints", "step-100")`. */
export const apiOf = (run: string, ...parts: readonly string[]): string =>
  ["/api/runs", ...[run, ...parts].map(encodeURIComponent)].join("/");

/** A part of a run that is asked for again when an event of a kind comes. */
export function useFresh<T>(run: string, part: string, kind: RunEventKind): Answer<T> {
  const answer = useApi<T>(apiOf(run, part));
  useEffect(
    () => onLive("event", (event) => event.run === run && event.kind === kind && answer.reload()),
    [run, kind],
  );
  return answer;
}

/** Rows of a kind of event of a run: those that there are, and those that come. */
export function useRows<K extends RunEventKind>(run: string, kind: K): Answer<readonly RunEvents[K][]> {
  const answer = useApi<readonly RunEvents[K][]>(`${apiOf(run, "events")}?kind=${kind}`);
  const [added, setAdded] = useState<readonly RunEvents[K][]>([]);
  useEffect(() => {
    setAdded([]);
    return onLive("event", (event) => {
      if (event.run === run && event.kind === kind)
        setAdded((rows) => [...rows, ...(event.rows as readonly RunEvents[K][])]);
    });
  }, [run, kind]);
  const { data } = answer;
  if (data === undefined || added.length === 0) return answer;
  // What came while the rows were asked for is in both.
  const known = new Set(data.slice(-100 - added.length).map((row) => JSON.stringify(row)));
  return { ...answer, data: [...data, ...added.filter((row) => !known.has(JSON.stringify(row)))] };
}
