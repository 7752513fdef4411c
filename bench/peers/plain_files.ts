// What Node's own file functions reach with as many bytes: what bench/checkpoint.ts is compared with.
import { closeSync, fsyncSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { settled } from "../checkpoint/settled.ts";
import { numbers } from "../engine/data.ts";
import { type Case, Seconds, serve } from "./protocol.ts";

/** As large as most tensors: small enough for caches, large enough that calls cost nothing. */
const chunkBytes = 16_000_000;

interface Writing {
  readonly bytes: number;
  readonly folder: string;
}

/** One file, written in large chunks from memory as large as it, then fsync. */
async function write({ bytes, folder }: Writing): Promise<Case> {
  const noise = new Uint8Array(numbers(7, chunkBytes / 4).buffer);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes; at += chunkBytes)
    chunks.push(noise.slice(0, Math.min(chunkBytes, bytes - at)));
  const path = join(folder, "plain");
  const once = (): number => {
    const start = performance.now();
    const file = openSync(path, "wx");
    for (const chunk of chunks)
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at, chunk.length - at);
    fsyncSync(file);
    closeSync(file);
    const took = (performance.now() - start) / 1000;
    const { size } = statSync(path);
    rmSync(path);
    settled(folder);
    if (size !== bytes) throw new Error(`${size} bytes were written, not ${bytes}`);
    return took;
  };
  return { check: bytes, run: async (times) => repeat(times, once) };
}

/** All files of a checkpoint, each into memory of its own. */
async function read({ folder }: { readonly folder: string }): Promise<Case> {
  const once = (): number => {
    const [checkpoint = ""] = readdirSync(folder).filter((name) => !name.startsWith("."));
    const start = performance.now();
    for (const name of readdirSync(join(folder, checkpoint))) {
      const file = openSync(join(folder, checkpoint, name), "r");
      const { size } = statSync(join(folder, checkpoint, name));
      // Chunk by chunk, as tensors lie in memory of their own: all that is read stays.
      const kept: Uint8Array[] = [];
      for (let at = 0; at < size; at += chunkBytes) {
        const chunk = new Uint8Array(Math.min(chunkBytes, size - at));
        for (let done = 0; done < chunk.length; )
          done += readSync(file, chunk, done, chunk.length - done, at + done);
        kept.push(chunk);
      }
      closeSync(file);
    }
    return (performance.now() - start) / 1000;
  };
  return { run: async (times) => repeat(times, once) };
}

function repeat(times: number, once: () => number): Seconds {
  let all = 0;
  for (let i = 0; i < times; i++) all += once();
  return new Seconds(all);
}

await serve(() => `Node ${process.versions.node}, ${chunkBytes / 1e6} MB at a time`, { write, read });
