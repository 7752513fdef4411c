import { Writable } from "node:stream";
import { widthOf } from "../../../core/index.ts";

const sequenceOrCharacter = new RegExp(`${"\x1b"}\\[[0-9;]*[a-zA-Z]|.`, "gsu");

/**
 * A terminal as far as consoleSink uses one: what is written is drawn, and `text()` is what somebody would see, scrolled
 * lines included. Made narrower, it breaks its lines anew, as terminals do. Whatever it does not know is an error.
 */
export class Screen extends Writable {
  readonly isTTY = true;
  columns: number;
  /** What was written, call by call. */
  readonly calls: string[] = [];
  /** Lines as they were written; where they are wider than the screen, they are broken when they are shown. */
  readonly #lines: string[][] = [[]];
  #line = 0;
  #at = 0;

  constructor(columns: number) {
    super({ decodeStrings: false });
    this.columns = columns;
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.calls.push(text);
    for (const [part] of text.matchAll(sequenceOrCharacter)) this.#put(part);
    done();
  }

  /** What is to be seen, colours left out. */
  text(): string {
    return this.rows().join("\n").trimEnd();
  }

  rows(): readonly string[] {
    return this.#lines.flatMap((line) => {
      const rows = [line.slice(0, this.columns)];
      for (let at = this.columns; at < line.length; at += this.columns)
        rows.push(line.slice(at, at + this.columns));
      return rows.map((row) => row.join("").trimEnd());
    });
  }

  #put(part: string): void {
    if (part === "\n") {
      this.#line++;
      this.#at = 0;
      this.#lines[this.#line] ??= [];
    } else if (part === "\r") this.#at -= this.#at % this.columns;
    else if (part.startsWith("\x1b[")) this.#control(part.slice(2, -1), part.slice(-1));
    else if (/\p{Cc}/u.test(part)) throw new Error(`control code ${JSON.stringify(part)}`);
    else {
      const cells = [part, ...Array<string>(Math.max(0, widthOf(part) - 1)).fill("")];
      for (const cell of cells) {
        const line = this.#lines[this.#line] ?? [];
        while (line.length < this.#at) line.push(" ");
        line[this.#at++] = cell;
      }
    }
  }

  #control(argument: string, command: string): void {
    if (command === "m") return;
    if (command === "A") {
      for (let i = 0; i < Number(argument || 1); i++) this.#up();
    } else if (command === "K") {
      const end = this.#at - (this.#at % this.columns) + this.columns;
      this.#lines[this.#line]?.splice(this.#at, end - this.#at);
    } else if (command === "J") {
      this.#lines[this.#line]?.splice(this.#at);
      this.#lines.splice(this.#line + 1);
    } else throw new Error(`unknown control sequence ${argument}${command}`);
  }

  #up(): void {
    if (this.#at >= this.columns) this.#at -= this.columns;
    else {
      this.#line = Math.max(0, this.#line - 1);
      const width = this.#lines[this.#line]?.length ?? 0;
      this.#at += Math.max(0, Math.ceil(width / this.columns) - 1) * this.columns;
    }
  }
}

/** A stream that is no terminal. */
export class Pipe extends Writable {
  written = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.toString();
    done();
  }

  get lines(): readonly string[] {
    return this.written.split("\n").slice(0, -1);
  }
}
