import { basename, dirname, resolve } from "node:path";
import { type Clock, systemClock } from "../../core/index.ts";
import type { Stateful } from "../../state/index.ts";
import { computedBy, type Manifest } from "../manifest/index.ts";
import { type CheckpointStore, localStore, type StoreLock } from "../store/index.ts";
import { type CheckpointEntry, latestWhole, listCheckpoints, problemsOf } from "./catalog.ts";
import { Checkpoint } from "./checkpoint.ts";
import { InUse } from "./in-use.ts";
import { checkpointName } from "./names.ts";
import type { CheckpointManagerOptions, SavedCheckpoint } from "./options.ts";
import { Pruning } from "./pruning.ts";
import { type RestoreOptions, restoreFrom } from "./restore.ts";
import { type CheckpointMetadata, type FiledMetadata, filed, writeSnapshot } from "./save.ts";
import { type Snapshot, snapshot } from "./snapshot.ts";

/**
 * Saves and restores components. It knows files and nothing of what the components are.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: localStore("runs/mnist"), keep: { last: 3 } });
 * await manager.save(trainer.components, { counters, metrics: { loss } }); // or { step: 1000, metrics: { loss } }
 * const newest = await manager.latest();
 * if (newest) await manager.restore(trainer.components, newest);
 * await manager.close();
 * ```
 */
export class CheckpointManager {
  readonly store: CheckpointStore;
  readonly #clock: Clock;
  readonly #run: string;
  readonly #warn: (text: string) => void;
  readonly #computedBy: typeof computedBy;
  readonly #used = new InUse();
  readonly #pruning: Pruning;
  #lock: Promise<StoreLock> | undefined;
  #sequence: number | undefined;
  /** The write under way and those that wait for it. Never rejects. */
  #writing: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: CheckpointManagerOptions) {
    this.store = options.store;
    this.#clock = options.clock ?? systemClock;
    this.#run = options.run ?? "a run";
    this.#warn = options.warn ?? (() => undefined);
    this.#computedBy = options.computedBy ?? computedBy;
    this.#pruning = new Pruning(options, this.#used);
  }

  /** Takes the store for this process, and removes what killed writers left. Saving does it where it was not done. */
  async open(): Promise<void> {
    await this.#locked();
  }

  /** Whether a write is under way. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  /** Freezes components and writes them: `snapshot` and `write` in one. */
  async save(
    components: Readonly<Record<string, Stateful>>,
    metadata: CheckpointMetadata,
  ): Promise<SavedCheckpoint> {
    const checked = filed(metadata);
    return this.#enqueue(await snapshot(components), checked);
  }

  /**
   * Writes a snapshot while the caller goes on, and releases it. One write is under way at a time; others wait. A
   * failure is the caller's to await, and leaves all other checkpoints as they were.
   */
  async write(frozen: Snapshot, metadata: CheckpointMetadata): Promise<SavedCheckpoint> {
    let checked: FiledMetadata;
    try {
      checked = filed(metadata);
    } catch (error) {
      frozen.release();
      throw error;
    }
    return this.#enqueue(frozen, checked);
  }

  #enqueue(frozen: Snapshot, metadata: FiledMetadata): Promise<SavedCheckpoint> {
    this.#waiting++;
    const writing = this.#writing.then(() => this.#write(frozen, metadata));
    const done = (): void => {
      this.#waiting--;
      frozen.release();
    };
    this.#writing = writing.then(done, done);
    return writing;
  }

  async #write(frozen: Snapshot, metadata: FiledMetadata): Promise<SavedCheckpoint> {
    const by = await this.#computedBy(frozen.device, metadata.compileOptions);
    const lock = await this.#locked();
    const sequence = (this.#sequence ?? (await this.#lastSequence())) + 1;
    const name = checkpointName(metadata.counters, await this.store.list());
    const savedAt = new Date(this.#clock.wall()).toISOString();
    const filing = { name, run: this.#run, sequence, savedAt, computedBy: by };
    const manifest = await writeSnapshot(lock, frozen, metadata, filing);
    this.#sequence = sequence;
    try {
      await this.#pruning.follow(lock, name);
    } catch (error) {
      // The checkpoint is there; that old ones could not be removed is no reason to lose it.
      this.#warn(
        `old checkpoints could not be removed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    const bytes = Object.values(manifest.components).reduce((sum, record) => sum + record.bytes, 0);
    return { name, path: this.store.path(name), manifest, bytes };
  }

  /** Resolves once nothing is being written; never rejects. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Opens a checkpoint of the store by its name, or any other by its path. */
  async load(nameOrPath: string): Promise<Checkpoint> {
    if (!/[/\\]/.test(nameOrPath)) return Checkpoint.open(this.store, nameOrPath);
    const path = resolve(nameOrPath);
    return Checkpoint.open(localStore(dirname(path)), basename(path));
  }

  /**
   * Gives components the states of a checkpoint; see {@link RestoreOptions} for how much of it. Nothing is changed
   * unless everything fits and is whole. From then on the checkpoint is never pruned.
   */
  async restore(
    components: Readonly<Record<string, Stateful>>,
    checkpoint: Checkpoint,
    options: RestoreOptions = {},
  ): Promise<Manifest> {
    const stop = this.use(checkpoint.name);
    try {
      return await restoreFrom(components, checkpoint, options, {
        computedBy: (tensor) => this.#computedBy(tensor?.device, options.compileOptions),
        warn: this.#warn,
      });
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** All checkpoints, the oldest first, with their manifests or what is wrong with them. */
  list(): Promise<readonly CheckpointEntry[]> {
    return listCheckpoints(this.store);
  }

  /** The newest checkpoint that is whole, every byte verified; damaged ones are passed over with a warning. */
  latest(): Promise<Checkpoint | undefined> {
    return latestWhole(this.store, this.#warn);
  }

  /** Everything that is wrong with a checkpoint; nothing where it is whole. */
  verify(name: string): Promise<readonly string[]> {
    return problemsOf(this.store, name);
  }

  /** Keeps a checkpoint from being pruned until the function that is returned is called. */
  use(name: string): () => void {
    return this.#used.use(name);
  }

  /**
   * Removes what no rule of `keep` keeps, and never the newest whole one, nor one in use. Gives their names. A rule by a
   * score that no checkpoint has is an error.
   */
  async prune(): Promise<readonly string[]> {
    const newest = await this.latest();
    return this.#pruning.prune(await this.#locked(), newest?.name);
  }

  /** Waits for writes and gives the store back. It can be used again: the next save takes the store anew. */
  async close(): Promise<void> {
    await this.idle();
    const lock = this.#lock;
    this.#lock = undefined;
    this.#sequence = undefined;
    await (await lock)?.release();
  }

  #locked(): Promise<StoreLock> {
    this.#lock ??= this.store.lock(this.#run).then(
      (lock) => {
        if (lock.cleaned.length > 0)
          this.#warn(`removed what killed writers had left: ${lock.cleaned.join(", ")}`);
        return lock;
      },
      (error: unknown) => {
        this.#lock = undefined;
        throw error;
      },
    );
    return this.#lock;
  }

  async #lastSequence(): Promise<number> {
    return (await this.list()).reduce((last, { manifest }) => Math.max(last, manifest?.sequence ?? 0), 0);
  }
}
