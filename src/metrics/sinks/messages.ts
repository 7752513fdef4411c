import type { ProtoWriter } from "../../core/index.ts";

type Kind = "integer" | "double" | "float" | "boolean" | "text" | "bytes" | "doubles";

/** A message of protocol buffers as a table: the number of each field, and its kind or the message that it holds. */
export interface Message {
  readonly [field: string]: readonly [number: number, kind: Kind | Message];
}

interface KindValues extends Record<Kind, unknown> {
  readonly boolean: boolean;
  readonly integer: number;
  readonly double: number;
  readonly float: number;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly doubles: readonly number[];
}

type ValueOf<K> = K extends Kind ? KindValues[K] : K extends Message ? MessageValues<K> : never;

/** Values of a message: repeated fields as lists, what is undefined is left out. */
export type MessageValues<M extends Message> = {
  readonly [F in keyof M]?: ValueOf<M[F][1]> | readonly ValueOf<M[F][1]>[] | undefined;
};

/** Writes the fields of a message in the order of the values. */
export function writeFields<M extends Message>(out: ProtoWriter, message: M, values: MessageValues<M>): void {
  for (const [field, value] of Object.entries(values)) {
    const [number, kind] = message[field] as Message[string];
    if (kind === "doubles") out.doubles(number, value as readonly number[]);
    else if (Array.isArray(value)) for (const each of value) writeField(out, number, kind, each);
    else if (value !== undefined) writeField(out, number, kind, value);
  }
}

function writeField(out: ProtoWriter, number: number, kind: Kind | Message, value: unknown): void {
  if (kind === "text") out.text(number, value as string);
  else if (kind === "boolean") out.boolean(number, value as boolean);
  else if (kind === "integer" || kind === "double" || kind === "float") out[kind](number, value as number);
  else {
    const begun = out.begin(number);
    if (typeof kind === "object") writeFields(out, kind, value as MessageValues<Message>);
    else out.raw(value as Uint8Array);
    out.end(begun);
  }
}
