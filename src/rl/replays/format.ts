import { EspalierError, messageOf, node } from "../../core/index.ts";
import type { Replay } from "./replay.ts";

/** The version that is written. Older ones stay readable. */
const VERSION = 1;
const MAGIC = new TextEncoder().encode("ESPREPLY");
/** Magic, and version as u32. Gzip follows, which detects that it is cut or altered. */
const PREFIX = MAGIC.length + 4;
/** Most bytes of an unpacked replay. */
const MOST = 2 ** 28;

/**
 * Encodes a replay: `ESPREPLY`, the version, and compressed by gzip the length of a JSON header, the header, and the
 * actions, as bytes if all are whole numbers up to 255, else as 32-bit floats. All numbers are little-endian.
 */
export function encodeReplay(replay: Replay): Uint8Array {
  const { actions, observations, return: _mean, ...rest } = replay;
  const small = actions.every((x) => Number.isInteger(x) && x >= 0 && x <= 255);
  const header: Header = {
    ...rest,
    actions: { type: small ? "u8" : "f32", count: actions.length },
    observations: { ...observations, marks: [...observations.marks] },
  };
  const text = Buffer.from(JSON.stringify(header));
  const numbers = small ? Buffer.from(actions) : littleEndian(actions);
  const content = Buffer.concat([u32(text.length), text, numbers]);
  return Buffer.concat([MAGIC, u32(VERSION), node.zlib.gzipSync(content, { level: 9 })]);
}

/** Decodes a replay. Errors call it `from`. */
export function decodeReplay(bytes: Uint8Array, from = "this"): Replay {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (
    all.length < PREFIX &&
    all.subarray(0, MAGIC.length).equals(MAGIC.subarray(0, all.length)) &&
    all.length > 0
  )
    throw damaged(from, `it ends after ${all.length} bytes`);
  if (!all.subarray(0, MAGIC.length).equals(MAGIC))
    throw new EspalierError("REPLAY_INVALID", `${from} is not a replay`, {
      fix: "give a file that writeReplay wrote",
    });
  const version = all.readUInt32LE(MAGIC.length);
  if (version > VERSION)
    throw new EspalierError(
      "REPLAY_VERSION",
      `${from} has version ${version} of the format, and this Espalier reads up to ${VERSION}`,
      { fix: "read it with a newer Espalier" },
    );
  if (version === 0) throw damaged(from, "there is no version 0 of the format");
  return unpacked(contentOf(all.subarray(PREFIX), from), from);
}

function contentOf(packed: Buffer, from: string): Buffer {
  try {
    return node.zlib.gunzipSync(packed, { maxOutputLength: MOST });
  } catch (cause) {
    throw damaged(from, messageOf(cause), cause);
  }
}

function unpacked(content: Buffer, from: string): Replay {
  let header: Header;
  let at: number;
  try {
    at = 4 + content.readUInt32LE(0);
    header = JSON.parse(content.toString("utf8", 4, at)) as Header;
  } catch (cause) {
    throw damaged(from, "its header cannot be read", cause);
  }
  const problem = problemIn(header);
  if (problem !== undefined) throw damaged(from, problem);
  const { actions, observations, ...rest } = header;
  const width = actions.type === "u8" ? 1 : 4;
  const numbers = content.subarray(at);
  if (numbers.length !== actions.count * width)
    throw damaged(
      from,
      `it has ${numbers.length} bytes of actions, and its header says ${actions.count * width}`,
    );
  return {
    ...rest,
    actions: actions.type === "u8" ? Float32Array.from(numbers) : floatsOf(numbers),
    return: rest.returns.reduce((sum, each) => sum + each, 0) / rest.agents,
    observations: { ...observations, marks: Uint32Array.from(observations.marks) },
  };
}

const damaged = (from: string, what: string, cause?: unknown): EspalierError =>
  new EspalierError("REPLAY_DAMAGED", `${from} is damaged: ${what}`, {
    fix: "record the episode again, or take another replay",
    cause,
  });

function u32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

function littleEndian(numbers: Float32Array): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((x, i) => {
    bytes.writeFloatLE(x, 4 * i);
  });
  return bytes;
}

const floatsOf = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));

/** The JSON header of a replay. */
interface Header extends Omit<Replay, "actions" | "observations" | "return"> {
  readonly actions: { readonly type: "u8" | "f32"; readonly count: number };
  readonly observations: {
    readonly digest: string;
    readonly every: number;
    readonly marks: readonly number[];
  };
}

/** Describes what is wrong with a header; undefined if it is valid. */
function problemIn(header: Header): string | undefined {
  const whole = (value: unknown, least: number): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least;
  const { actions, observations, returns } = header ?? {};
  const right: Readonly<Record<string, boolean>> = {
    environment: typeof header?.environment === "string",
    seed: Number.isSafeInteger(header?.seed),
    lesson: whole(header?.lesson, 0),
    agents: whole(header?.agents, 1),
    length: whole(header?.length, 0),
    end: ["terminated", "truncated", "cut"].includes(header?.end),
    returns: Array.isArray(returns) && returns.length === header.agents && returns.every(Number.isFinite),
    actions: ["u8", "f32"].includes(actions?.type) && whole(actions.count, 0),
    observations:
      typeof observations?.digest === "string" &&
      whole(observations.every, 1) &&
      Array.isArray(observations.marks),
    about: typeof header?.about === "object" && header.about !== null,
  };
  const wrong = Object.keys(right).find((name) => !right[name]);
  return wrong && `its ${wrong} ${wrong.endsWith("s") ? "are" : "is"} not as it should be`;
}
