import { Block } from "./block.ts";
import { namedValue, namedValueType } from "./layout.ts";

export type OptionValue = string | number | boolean | readonly number[];

/** Options whose numbers are floats even when they are whole. */
const FLOATS = new Set(["memory_fraction"]);

/** Encodes options as the array of `PJRT_NamedValue` that creates a client. */
export function encodeNamedValues(options: Readonly<Record<string, OptionValue>>): Block {
  const entries = Object.entries(options);
  const block = new Block(entries.length * namedValue.size);
  entries.forEach(([name, value], i) => {
    const at = i * namedValue.size;
    const nameBytes = Buffer.from(name);
    block.setPointer(at, namedValue.size);
    block.pointTo(at + namedValue.name, Block.bytes(nameBytes));
    block.setPointer(at + namedValue.nameLength, nameBytes.length);
    writeValue(block, at, name, value);
  });
  return block;
}

function writeValue(block: Block, at: number, name: string, value: OptionValue): void {
  const type = typeOf(name, value);
  const field = at + namedValue.value;
  let length = 1;
  if (typeof value === "string") {
    const bytes = Buffer.from(value);
    block.pointTo(field, Block.bytes(bytes));
    length = bytes.length;
  } else if (typeof value === "boolean") block.setInt32(field, value ? 1 : 0);
  else if (typeof value !== "number") {
    block.pointTo(field, Block.integers(value));
    length = value.length;
  } else if (type === namedValueType.float) block.setFloat32(field, value);
  else block.setInt64(field, value);
  block.setInt32(at + namedValue.type, type);
  block.setPointer(at + namedValue.valueLength, length);
}

function typeOf(name: string, value: OptionValue): number {
  if (typeof value === "string") return namedValueType.string;
  if (typeof value === "boolean") return namedValueType.bool;
  if (typeof value !== "number") return namedValueType.int64List;
  return FLOATS.has(name) || !Number.isInteger(value) ? namedValueType.float : namedValueType.int64;
}
