/** Writes the few kinds of protocol buffer fields that compile options need. */
export class ProtoWriter {
  readonly #bytes: number[] = [];

  /** An integer, a boolean or an enum. Negative numbers take ten bytes, as in every int32 and int64 field. */
  integer(field: number, value: number | bigint | boolean): this {
    this.#varint(BigInt(field) << 3n);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
    return this;
  }

  double(field: number, value: number): this {
    this.#varint((BigInt(field) << 3n) | 1n);
    this.#bytes.push(...new Uint8Array(new Float64Array([value]).buffer));
    return this;
  }

  /** Text, or a message inside the message. */
  bytes(field: number, value: string | ProtoWriter): this {
    const content = typeof value === "string" ? Buffer.from(value) : value.#bytes;
    this.#varint((BigInt(field) << 3n) | 2n);
    this.#varint(BigInt(content.length));
    this.#bytes.push(...content);
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #varint(value: bigint): void {
    let rest = value;
    for (; rest > 127n; rest >>= 7n) this.#bytes.push(Number(rest & 127n) | 128);
    this.#bytes.push(Number(rest));
  }
}
