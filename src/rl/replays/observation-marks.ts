import { createHash } from "node:crypto";
import { writeFlat } from "../spaces/flat.ts";
import { flatSize } from "../spaces/sizes.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";
import type { ObservationMarks } from "./replay.ts";

/** Marks in a replay, at most: 256 bytes. */
const MOST = 64;

/** Hashes observations one after the other. */
export class ObservationHash {
  readonly #hash = createHash("sha256");
  readonly #space: Space;
  /** The newest observation as rows [agents, flat size]. */
  readonly rows: Float32Array;
  readonly #bytes: Uint8Array;
  readonly #each: number[] = [];

  constructor(space: Space, agents: number) {
    this.#space = space;
    this.rows = new Float32Array(agents * flatSize(space));
    this.#bytes = new Uint8Array(this.rows.buffer);
  }

  add(observations: readonly SpaceValue[]): void {
    let at = 0;
    for (const observation of observations) at = writeFlat(this.#space, observation, this.rows, at);
    // A negative zero is a zero.
    for (let i = 0; i < this.rows.length; i++) if (this.rows[i] === 0) this.rows[i] = 0;
    this.#hash.update(this.#bytes);
    this.#each.push(this.#hash.copy().digest().readUInt32LE(0));
  }

  /** With a mark after every so many observations. */
  marks(every = Math.max(1, Math.ceil(this.#each.length / MOST))): ObservationMarks {
    const marks = Uint32Array.from(this.#each.filter((_, i) => (i + 1) % every === 0));
    return { digest: this.#hash.copy().digest("hex"), every, marks };
  }
}

/** The observations among which the first that differs is, 0 being that of the reset; undefined where none does. */
export function firstDifferent(
  recorded: ObservationMarks,
  now: ObservationMarks,
  observations: number,
): readonly [from: number, to: number] | undefined {
  const { every } = recorded;
  const shared = Math.min(recorded.marks.length, now.marks.length);
  for (let i = 0; i < shared; i++)
    if (recorded.marks[i] !== now.marks[i]) return [i * every, (i + 1) * every - 1];
  if (recorded.marks.length !== now.marks.length || recorded.digest === now.digest) return undefined;
  return [shared * every, Math.max(shared * every, observations - 1)];
}
