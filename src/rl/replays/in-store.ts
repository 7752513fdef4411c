import type { CheckpointStore } from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";
import { decodeReplay } from "./format.ts";
import { REPLAY_SUFFIX } from "./in-directory.ts";
import type { Replay } from "./replay.ts";

/** The file of a replay in a store, where every entry is a directory. */
const IN_STORE = `episode${REPLAY_SUFFIX}`;

/** Commits an entry with the replay in it, in the place of one of that name. */
export async function intoStore(store: CheckpointStore, name: string, bytes: Uint8Array): Promise<string> {
  const lock = await store.lock("replays");
  try {
    await lock.remove(name);
    const writer = await lock.begin(name);
    try {
      const file = await writer.file(IN_STORE);
      await file.write(Uint8Array.from(bytes));
      await file.close();
      await writer.commit();
    } catch (error) {
      await writer.abort();
      throw error;
    }
    return store.path(name);
  } finally {
    await lock.release();
  }
}

/** The replay of an entry. */
export async function fromStore(store: CheckpointStore, name: string): Promise<Replay> {
  const where = store.path(name);
  const file = await (await store.open(name)).file(IN_STORE).catch((cause: unknown) => {
    if (!(cause instanceof EspalierError) || cause.code !== "FILE_MISSING") throw cause;
    throw new EspalierError("REPLAY_MISSING", `there is no replay ${where}`, {
      fix: "give the name of a replay in this store",
      cause,
    });
  });
  try {
    return decodeReplay(await file.read(0, file.size), where);
  } finally {
    await file.close();
  }
}
