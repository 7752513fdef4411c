import type { CheckpointStore, StoreLock } from "../../checkpoint/index.ts";
import { EspalierError, node } from "../../core/index.ts";
import type { ConformanceCase } from "../conformance.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

async function save(lock: StoreLock, name: string, files: Readonly<Record<string, string>>): Promise<void> {
  const writer = await lock.begin(name);
  for (const [file, content] of Object.entries(files)) {
    const opened = await writer.file(file);
    await opened.write(text(content));
    await opened.close();
  }
  await writer.commit();
}

async function load(store: CheckpointStore, name: string, file: string): Promise<string> {
  const opened = await (await store.open(name)).file(file);
  const bytes = await opened.read(0, opened.size);
  await opened.close();
  return new TextDecoder().decode(bytes);
}

type StoreCase = (store: CheckpointStore, again: () => Promise<CheckpointStore>) => Promise<void>;

const checks: Readonly<Record<string, StoreCase>> = {
  "an empty store lists nothing": async (store) => equal(await store.list(), [], "list"),

  "what was committed is listed and comes back": async (store, again) => {
    const lock = await store.lock();
    await save(lock, "one", { "manifest.json": "{}", "a.safetensors": "data" });
    await save(lock, "two", { "manifest.json": "{ }" });
    for (const reader of [store, await again()]) {
      equal([...(await reader.list())].sort(), ["one", "two"], "list");
      equal(await load(reader, "one", "a.safetensors"), "data", "file");
      equal(await load(reader, "two", "manifest.json"), "{ }", "file");
    }
    await lock.release();
  },

  "a file tells its size and hash": async (store) => {
    const lock = await store.lock();
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    const all = new Uint8Array(300_000).map((_, i) => i % 251);
    for (let at = 0; at < all.length; at += 70_000) await file.write(all.slice(at, at + 70_000));
    const sha256 = node.crypto.createHash("sha256").update(all).digest("hex");
    equal(await file.close(), { bytes: all.length, sha256 }, "close");
    const empty = await writer.file("empty");
    equal((await empty.close()).bytes, 0, "bytes of an empty file");
    await writer.commit();

    const stored = await (await store.open("one")).file("data");
    equal(stored.size, all.length, "size");
    equal([...(await stored.read(1000, 3))], [...all.subarray(1000, 1003)], "a part of it");
    const pieces: Uint8Array[] = [];
    equal(
      await stored.readHashed([1, 200_000, 99_999], (piece, i) => (pieces[i] = piece.slice())),
      sha256,
      "readHashed",
    );
    equal(Buffer.concat(pieces).equals(all), true, "pieces put together");
    equal(await stored.hash(), sha256, "hash");
    await refuses(() => stored.read(all.length - 1, 2), "FILE_TRUNCATED", "reading beyond the end");
    await stored.close();
    await lock.release();
  },

  "nothing is seen before commit": async (store, again) => {
    const lock = await store.lock();
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    await file.write(text("data"));
    await file.close();
    equal(await store.list(), [], "list before commit");
    equal(await (await again()).list(), [], "list of another reader");
    await writer.commit();
    equal(await store.list(), ["one"], "list after commit");
    await writer.abort();
    equal(await store.list(), ["one"], "list after an abort that came too late");
    await lock.release();
  },

  "an aborted checkpoint leaves nothing, and its name is free": async (store) => {
    const lock = await store.lock();
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    await file.write(text("data"));
    await writer.abort();
    equal(await store.list(), [], "list");
    await save(lock, "one", { data: "new" });
    equal(await load(store, "one", "data"), "new", "file");
    await lock.release();
  },

  "what was committed is never written over": async (store) => {
    const lock = await store.lock();
    await save(lock, "one", { data: "old" });
    await refuses(() => lock.begin("one"), "CHECKPOINT_EXISTS", "a name that is taken");
    equal(await load(store, "one", "data"), "old", "file");
    await lock.release();
  },

  "a removed checkpoint is gone": async (store) => {
    const lock = await store.lock();
    await save(lock, "one", { data: "1" });
    await save(lock, "two", { data: "2" });
    await lock.remove("one");
    await lock.remove("never-there");
    equal(await store.list(), ["two"], "list");
    await refuses(() => load(store, "one", "data"), "FILE_MISSING", "a removed file");
    await lock.release();
  },

  "a missing file is an error": async (store) => {
    const lock = await store.lock();
    await save(lock, "one", { data: "1" });
    await refuses(() => load(store, "one", "other"), "FILE_MISSING", "a missing file");
    await lock.release();
  },

  "one at a time may write": async (store, again) => {
    const lock = await store.lock("the first run");
    const other = await again();
    await refuses(() => other.lock("the second"), "STORE_LOCKED", "a second lock", /the first run/);
    equal(await other.list(), [], "readers need no lock");
    await lock.release();
    await lock.release();
    const next = await other.lock("the second");
    await refuses(() => lock.begin("late"), "STORE_RELEASED", "writing after the release");
    await next.release();
  },
};

/**
 * The conformance suite of checkpoint stores. `makeStore(place)` gives a store at a place of that name: empty when the
 * name is new, and the same checkpoints each time it is given one name, as another process would find them.
 *
 * @example
 * ```ts
 * for (const { name, run } of checkStore((place) => myStore(`bucket/${place}`))) test(name, run);
 * ```
 */
export function checkStore(
  makeStore: (place: string) => CheckpointStore | Promise<CheckpointStore>,
): readonly ConformanceCase[] {
  return Object.entries(checks).map(([name, check], i) => {
    const place = `store-${i}`;
    return { name, run: async () => check(await makeStore(place), async () => makeStore(place)) };
  });
}

/** Checks that two values are equal through and through. */
function equal(actual: unknown, expected: unknown, what: string): void {
  if (node.util.isDeepStrictEqual(actual, expected)) return;
  throw new EspalierError(
    "CONFORMANCE",
    `${what}: ${JSON.stringify(actual)}, where ${JSON.stringify(expected)} was expected`,
  );
}

/** Checks that something is refused with this code, and in these words. */
async function refuses(work: () => Promise<unknown>, code: string, what: string, words = /./): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof EspalierError && error.code === code && words.test(error.message)) return;
    throw new EspalierError("CONFORMANCE", `${what} failed otherwise than with ${code} and ${words}`, {
      cause: error,
    });
  }
  throw new EspalierError("CONFORMANCE", `${what} was accepted, where ${code} was expected`);
}
