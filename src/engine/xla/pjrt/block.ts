import { type Handle, native } from "./library.ts";

// PJRT refuses a struct smaller than the one its plugin was built with and accepts a larger one; fields are
// only ever appended, and zero means "not given" in all of them. So every block claims more room than any
// known version needs (the largest so far: 201 bytes), which serves newer plugins as well.
const ROOM = 512;

const HIGH = 2 ** 32;

/**
 * Zeroed memory at a fixed address that holds one argument struct of the PJRT C API, or an array of pointers.
 * A block keeps alive whatever it points to through {@link pointTo}.
 */
export class Block {
  readonly address: Handle;
  /** The memory as 32-bit words; a pointer is two of them, low word first. */
  readonly words: Uint32Array;
  readonly #memory: ArrayBuffer;
  readonly #kept = new Map<number, unknown>();

  constructor(bytes: number) {
    // An ArrayBuffer of its own has its memory outside the JS heap, where the collector never moves it.
    this.#memory = new ArrayBuffer(Math.max(8, Math.ceil(bytes / 8) * 8));
    this.words = new Uint32Array(this.#memory);
    this.address = native().addressOf(this.#memory);
  }

  /** An argument struct, its `struct_size` set. */
  static struct(): Block {
    const block = new Block(ROOM);
    block.words[0] = ROOM;
    return block;
  }

  /** Null-free text or other bytes, copied. */
  static bytes(content: Uint8Array): Block {
    const block = new Block(content.length);
    new Uint8Array(block.#memory).set(content);
    return block;
  }

  pointer(offset: number): Handle {
    const at = offset >>> 2;
    // Both words exist for every offset of the layout.
    return (this.words[at] as number) + (this.words[at + 1] as number) * HIGH;
  }

  /** Writes a pointer or an unsigned 64-bit number below 2^53. */
  setPointer(offset: number, value: Handle): void {
    const at = offset >>> 2;
    this.words[at] = value; // keeps the low 32 bits
    this.words[at + 1] = value / HIGH;
  }

  pointTo(offset: number, target: Block): void {
    this.#kept.set(offset, target);
    this.setPointer(offset, target.address);
  }

  int32(offset: number): number {
    return (this.words[offset >>> 2] as number) | 0;
  }

  setInt32(offset: number, value: number): void {
    this.words[offset >>> 2] = value;
  }
}
