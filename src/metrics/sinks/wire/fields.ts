import { wireType } from "./message-bytes.ts";

/** A field of a message: a number where it is a varint, else its bytes. */
export type Field =
  | { readonly field: number; readonly number: number; readonly bytes?: undefined }
  | { readonly field: number; readonly bytes: Buffer; readonly number?: undefined };

/** The fields of a message as they stand. Throws a RangeError where the bytes are not a message. */
export function* fieldsOf(message: Buffer): Generator<Field, void, undefined> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError("the message ends within a number");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const taken = (size: number): Buffer => {
    if (at + size > message.length) throw new RangeError("the message ends within a field");
    at += size;
    return message.subarray(at - size, at);
  };
  while (at < message.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const type = tag % 8;
    if (type === wireType.varint) yield { field, number: varint() };
    else if (type === wireType.bytes) yield { field, bytes: taken(varint()) };
    else if (type === wireType.fixed64) yield { field, bytes: taken(8) };
    else if (type === wireType.fixed32) yield { field, bytes: taken(4) };
    else throw new RangeError(`a field has the type ${type}`);
  }
}
