/** Encoding of a field's value. */
const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Up to this many bytes a loop is faster than a native copy. */
const SHORT = 64;

/**
 * Writes protocol buffer messages, one after the other, into memory that grows. Files of metrics are millions of tiny
 * messages: a field costs a few stores, and a nested message needs no object.
 *
 * @example
 * ```ts
 * const out = new ProtoWriter();
 * const value = out.begin(1);
 * out.text(1, "train/loss");
 * out.float(2, 0.5);
 * out.end(value);
 * out.bytes(); // The encoded field 1.
 * ```
 */
export class ProtoWriter {
  /** Beyond `length` it holds anything. */
  buffer: Buffer;
  length = 0;
  #view: DataView;

  constructor(capacity = 4096) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
    this.#view = new DataView(this.buffer.buffer);
  }

  /** The bytes written so far, a view that the next write may change. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  /** Reserves `size` bytes and returns where they begin. */
  claim(size: number): number {
    const at = this.length;
    const wanted = at + size;
    if (wanted > this.buffer.length) this.#grow(wanted);
    this.length = wanted;
    return at;
  }

  #grow(wanted: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
    this.#view = new DataView(larger.buffer);
  }

  byte(value: number): void {
    const at = this.claim(1);
    this.buffer[at] = value;
  }

  raw(bytes: Uint8Array): void {
    const at = this.claim(bytes.length);
    const { buffer } = this;
    if (bytes.length > SHORT) buffer.set(bytes, at);
    else for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number; // Below the length.
  }

  /** Text whose characters are all ASCII. */
  ascii(text: string): void {
    const at = this.claim(text.length);
    const { buffer } = this;
    for (let i = 0; i < text.length; i++) buffer[at + i] = text.charCodeAt(i);
  }

  rawUint32(value: number, at: number = this.claim(4)): void {
    this.#view.setUint32(at, value, true);
  }

  rawFloat(value: number): void {
    const at = this.claim(4);
    this.#view.setFloat32(at, value, true);
  }

  rawDouble(value: number): void {
    const at = this.claim(8);
    this.#view.setFloat64(at, value, true);
  }

  /** A non-negative integer. */
  rawVarint(value: number): void {
    let left = value;
    while (left > 0x7fffffff) {
      this.byte((left % 128) | 128);
      left = Math.floor(left / 128);
    }
    while (left > 127) {
      this.byte((left & 127) | 128);
      left >>>= 7;
    }
    this.byte(left);
  }

  tag(field: number, type: number): void {
    this.rawVarint(field * 8 + type);
  }

  /** An integer or an enum. A negative one is written as its 64-bit two's complement. */
  integer(field: number, value: number): void {
    this.tag(field, wireType.varint);
    if (value >= 0) this.rawVarint(value);
    else {
      let left = BigInt.asUintN(64, BigInt(value));
      for (; left > 127n; left >>= 7n) this.byte(Number(left & 127n) | 128);
      this.byte(Number(left));
    }
  }

  boolean(field: number, value: boolean): void {
    this.tag(field, wireType.varint);
    this.byte(value ? 1 : 0);
  }

  float(field: number, value: number): void {
    this.tag(field, wireType.fixed32);
    this.rawFloat(value);
  }

  double(field: number, value: number): void {
    this.tag(field, wireType.fixed64);
    this.rawDouble(value);
  }

  /** A packed repeated field. */
  doubles(field: number, values: Iterable<number>): void {
    const begun = this.begin(field);
    for (const value of values) this.rawDouble(value);
    this.end(begun);
  }

  text(field: number, value: string): void {
    this.tag(field, wireType.bytes);
    const size = Buffer.byteLength(value);
    this.rawVarint(size);
    const at = this.claim(size);
    this.buffer.write(value, at, "utf8");
  }

  /** Begins a nested message. Returns the position that `end` needs. */
  begin(field: number): number {
    this.tag(field, wireType.bytes);
    return this.claim(1) + 1;
  }

  /** Ends a nested message: writes its size in front of it, and moves it where one byte is too few. */
  end(begun: number): void {
    const size = this.length - begun;
    let extra = 0;
    for (let left = size; left > 127; left = Math.floor(left / 128)) extra++;
    if (extra > 0) {
      this.claim(extra);
      this.buffer.copyWithin(begun + extra, begun, begun + size);
    }
    const after = this.length;
    this.length = begun - 1;
    this.rawVarint(size);
    this.length = after;
  }
}

/** A field of a message: a number where it is a varint, else its bytes. */
export type ProtoField =
  | { readonly field: number; readonly number: number; readonly bytes?: undefined }
  | { readonly field: number; readonly bytes: Buffer; readonly number?: undefined };

/** Reads the fields of a message in order. Throws a RangeError where the bytes are not a message. */
export function* readFields(message: Buffer): Generator<ProtoField, void, undefined> {
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
