// What the views are made of: an answer of the API once it is there, tables, buttons, fields, dialogs, texts that scroll.
import type { ComponentChildren, JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunEventKind, RunEvents } from "../../metrics/index.ts";
import {
  type Answer,
  apiOf,
  asker,
  type Changes,
  changesOfRun,
  type Failure,
  follow,
  onLive,
} from "./client.ts";

interface LoadedProps<T> {
  readonly path: string;
  readonly live?: Changes<T>;
  /** Asks in another way than by one request. */
  readonly ask?: () => Promise<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** Asks for a path and shows its answer, that it is awaited, or why it did not come. */
export function Loaded<T>({ path, live, ask, children }: LoadedProps<T>) {
  const [shown, setShown] = useState<Answer<T> & { readonly path?: string }>({});
  useEffect(() => follow<T>(ask ?? asker(path), live, (answer) => setShown({ ...answer, path })), [path]);
  const { data, error } = shown.path === path ? shown : {};
  return data === undefined ? <Missing error={error} /> : children(data);
}

/** What stands where an answer is awaited, or why there is none. */
export const Missing = ({ error }: { readonly error: Failure | undefined }) =>
  error ? (
    <p class="note" role="alert">
      <Reason failure={error} />
    </p>
  ) : (
    <p class="note">Loading…</p>
  );

export const Reason = ({ failure: { message, fix } }: { readonly failure: Failure }) => (
  <span>
    {message} {fix && <em>{fix}</em>}
  </span>
);

/** Asks again whenever a run files an event of a kind. */
export const askedAt = <T,>(run: string, kind: RunEventKind): Changes<T> =>
  changesOfRun(run, (change) =>
    onLive("event", (event) => event.run === run && event.kind === kind && change(() => undefined)),
  );

interface EventsProps<K extends RunEventKind> {
  readonly run: string;
  readonly kind: K;
  readonly children: (rows: readonly RunEvents[K][]) => ComponentChildren;
}

/** Shows the rows of a kind of event of a run, newest first: asked for again when there are more. */
export const Events = <K extends RunEventKind>({ run, kind, children }: EventsProps<K>) => (
  <Loaded<readonly RunEvents[K][]> path={`${apiOf(run, "events")}?kind=${kind}`} live={askedAt(run, kind)}>
    {(rows) => children(rows.toReversed())}
  </Loaded>
);

/** A column: its title, and a cell of it. Columns of numbers are aligned to the right. */
export interface Column<R> {
  readonly title: string;
  /** What stands above it instead of its title. */
  readonly head?: ComponentChildren;
  readonly cell: (row: R) => ComponentChildren;
  readonly number?: boolean;
}

interface TableProps<R> {
  readonly caption: string;
  /** A row is made anew when it, or this list, is another one. */
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  /** What stands there without rows. */
  readonly empty?: string;
  readonly class?: string;
  /** Default: its place from the end, for new rows come first: a row that has the focus keeps it. */
  readonly keyOf?: (row: R) => string;
}

/** Rows that are made at once. Others follow when the end of those that are there comes near the viewport. */
const rowsAtOnce = 60;

/** A table whose first column names the row. */
export function Table<R>({ caption, columns, rows, empty, class: look = "data", keyOf }: TableProps<R>) {
  const [limit, setLimit] = useState(rowsAtOnce);
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const grow = () => setLimit(limit + rowsAtOnce);
    const near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && grow(), {
      rootMargin: "600px",
    });
    if (end.current) near.observe(end.current);
    return () => near.disconnect();
  });
  if (rows.length === 0) return <p class="note">{empty ?? "None yet."}</p>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard. */}
      <section class="scroll-x" tabIndex={0} aria-label={caption}>
        <table class={look} aria-label={caption} aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              {columns.map(({ title, head, number }, at) => (
                <th key={at} scope="col" class={number ? "number" : undefined}>
                  {head ?? title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row, i) => (
              <Row key={keyOf?.(row) ?? rows.length - i} row={row} index={i + 2} columns={columns} />
            ))}
          </tbody>
        </table>
      </section>
      {limit < rows.length && (
        <p ref={end}>
          <Button text={`Show all ${rows.length}`} on={() => setLimit(rows.length)} />
        </p>
      )}
    </>
  );
}

interface RowProps<R> extends Pick<TableProps<R>, "columns"> {
  readonly row: R;
  /** Its place in the table, for screen readers: the first is that of the titles. */
  readonly index: number;
}

const Row = memo(<R,>({ row, index, columns }: RowProps<R>) => (
  <tr aria-rowindex={index}>
    {columns.map(({ cell, number }, at) => {
      const Cell = at === 0 ? "th" : "td";
      return (
        <Cell key={at} scope={at === 0 ? "row" : undefined} class={number ? "number" : undefined}>
          {cell(row)}
        </Cell>
      );
    })}
  </tr>
)) as <R>(props: RowProps<R> & { readonly key: string | number }) => JSX.Element;

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

export const Field = ({ label, on, ...rest }: FieldProps) => (
  <label>
    {label} <input onInput={(event) => on?.(event.currentTarget.value)} {...rest} />
  </label>
);

type CheckProps = { label: string; checked: boolean; on: (checked: boolean) => void };

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

interface QuestionProps {
  /** The text of the button that asks. */
  readonly text: string;
  readonly class?: string;
  readonly disabled?: boolean;
  /** Why the button is off. */
  readonly hint?: string | undefined;
  readonly title: string;
  /** The label of a field for a text; without one the answer is a button. */
  readonly label?: string;
  /** What stands in the field at first. */
  readonly initial?: string;
  /** The only text that is taken. */
  readonly wanted?: string | undefined;
  readonly action: string;
  readonly onAnswer: (text: string) => unknown;
}

/** A button that asks for a text, or for a confirmation, in a dialog before something is done. */
export function AskingButton({
  title,
  label,
  initial = "",
  wanted,
  action,
  onAnswer,
  hint,
  ...button
}: QuestionProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(initial);
  const ask = () => {
    setText(initial);
    dialog.current?.showModal();
  };
  return (
    <>
      <Button {...button} title={hint} on={ask} />
      <dialog ref={dialog} aria-label={title}>
        <h2>{title}</h2>
        <form method="dialog" onSubmit={() => void onAnswer(text)}>
          {label && <Field label={`${label} ${wanted ?? ""}`} autocomplete="off" value={text} on={setText} />}
          <p class="buttons">
            <button type="submit" disabled={wanted !== undefined && text.trim() !== wanted}>
              {action}
            </button>
            <Button text="Cancel" on={() => dialog.current?.close()} />
          </p>
        </form>
      </dialog>
    </>
  );
}

/** The colour of a curve or of a share, and its dashes. */
export const Mark = ({ color, dashed = false }: { readonly color: string; readonly dashed?: boolean }) => (
  <span style={{ color }} aria-hidden="true">
    {dashed ? "╍" : "━"}
  </span>
);

/** Text as it is, in a box that scrolls. */
export const Text = ({ children }: { readonly children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the keyboard.
  <pre class="text" tabIndex={0}>
    {children}
  </pre>
);
