// What the views are made of: an answer of the API once it is there, tables, buttons, fields, dialogs, texts that scroll.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunEventKind, RunEvents } from "../../metrics/index.ts";
import { type Answer, onLive, useApi } from "./client.ts";

interface LoadedProps<T> {
  readonly answer: Answer<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows an answer, that it is awaited, or why it did not come. */
export function Loaded<T>({ answer: { data, error }, children }: LoadedProps<T>) {
  if (data !== undefined) return <>{children(data)}</>;
  if (!error) return <p class="note">Loading…</p>;
  return (
    <p class="note" role="alert">
      {error.message} {error.fix}
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
  /** What stands there without rows. */
  readonly empty?: string;
}

/** The most rows that are shown. */
const mostRows = 500;

/** A table whose first column names the row. Beyond 500 rows it says how many there are. */
export function Table<R>({ caption, columns, rows, empty = "None yet." }: TableProps<R>) {
  if (rows.length === 0) return <p class="note">{empty}</p>;
  const classOf = ({ number }: Column<R>) => (number ? "number" : undefined);
  // Counted from the end, for new rows come first: a row that has the focus keeps it.
  const keyOf = (i: number) => rows.length - i;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <section class="scroll-x" tabIndex={0} aria-label={caption}>
        <table class="data" aria-label={caption}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.title} scope="col" class={classOf(column)}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostRows).map((row, i) => (
              <tr key={keyOf(i)}>
                {columns.map((column, at) => {
                  const Cell = at === 0 ? "th" : "td";
                  return (
                    <Cell key={column.title} scope={at === 0 ? "row" : undefined} class={classOf(column)}>
                      {column.cell(row)}
                    </Cell>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > mostRows && <p class="note">{`The first ${mostRows} of ${rows.length}.`}</p>}
    </>
  );
}

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "onClick"> & {
  readonly text: ComponentChildren;
  readonly on: () => unknown;
};

export const Button = ({ text, on, ...rest }: ButtonProps) => (
  <button type="button" onClick={() => void on()} {...rest}>
    {text}
  </button>
);

type FieldProps = JSX.IntrinsicElements["input"] & {
  readonly label: string;
  /** Told the text at every change of it. */
  readonly on?: (text: string) => void;
};

/** An input with its label in front. */
export const Field = ({ label, on, ...rest }: FieldProps) => (
  <label>
    {label} <input onInput={(event) => on?.(event.currentTarget.value)} {...rest} />
  </label>
);

interface CheckProps {
  readonly label: string;
  readonly checked: boolean;
  readonly on: (checked: boolean) => void;
}

export const Check = ({ label, checked, on }: CheckProps) => (
  <label>
    <input type="checkbox" checked={checked} onChange={(event) => on(event.currentTarget.checked)} /> {label}
  </label>
);

interface SelectProps<V> {
  readonly label: string;
  readonly value: V;
  readonly options: readonly (readonly [value: V, text: string])[];
  readonly on: (value: V) => void;
}

/** A choice from a list, with its label in front. */
export function Select<V extends string | number>({ label, value, options, on }: SelectProps<V>) {
  const choose = (event: { readonly currentTarget: HTMLSelectElement }) => {
    const chosen = options[event.currentTarget.selectedIndex];
    if (chosen) on(chosen[0]);
  };
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={choose}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog over the page, with its focus kept inside. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Text as it is, in a box that scrolls. */
export const Text = ({ children }: { readonly children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard.
  <pre class="text" tabIndex={0}>
    {children}
  </pre>
);

/** Calls an action for keys of a table, while nothing is typed into a field or a dialog. */
export function useKeys(actionOf: (key: string) => (() => void) | undefined): void {
  useEffect(() => {
    const act = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : undefined;
      const field = target?.closest("input:not([type=checkbox]), textarea, select, dialog");
      const action =
        event.ctrlKey || event.metaKey || event.altKey || field ? undefined : actionOf(event.key);
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", act);
    return () => removeEventListener("keydown", act);
  }, []);
}

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
