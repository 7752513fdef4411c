import { type Clock, EspalierError, messageOf, systemClock } from "../core/index.ts";
import type { Stateful } from "../state/index.ts";
import {
  Checkpoint,
  type CheckpointEntry,
  checkpointName,
  firstWhole,
  latestWhole,
  listCheckpoints,
  problemsOf,
} from "./checkpoint.ts";
import { computedBy } from "./computed-by.ts";
import { bytesIn, type Manifest } from "./manifest.ts";
import { type RestoreOptions, restoreFrom } from "./restore.ts";
import { type BestRule, bestFirst, checkKeep, expendable, type Keep, unmetRule } from "./retention.ts";
import { type CheckpointMetadata, checkMetadata, type FiledMetadata, writeSnapshot } from "./save.ts";
import { type Snapshot, snapshot } from "./snapshot.ts";
import { entryAt } from "./store/address.ts";
import type { CheckpointStore, StoreLock } from "./store/store.ts";

// The steps of a save and of a restore, and the file of each. The hook (hook/) calls both at its times.
//
//   save      snapshot(components)           snapshot.ts         asks every component for its state; tensors are held, not copied
//             queue: one write at a time     manager.ts          training goes on meanwhile
//               checkpointName               checkpoint.ts       epoch-0012-update-000480
//               lock.begin(name)             store/              a temporary directory beside the final name
//               per component, two at once   save.ts
//                 writeComponent             write-component.ts  a safetensors file, hashed as it is written (store/file-threads.ts)
//                 values.bin                 save.ts             small components without tensors, one after another
//               manifest.json                manifest.ts         counters, config, file sizes and hashes; written last
//               commit                       store/              fsync, one rename: whole or not there at all
//             prune                          retention.ts        removes what no rule of `keep` keeps
//
//   restore   latest() or load(name)         checkpoint.ts       reads the manifest; latest verifies every byte
//             compare with the run           restore.ts          names, tensor types, config, machine: nothing is changed on a mismatch
//             read each component            read-component.ts   hashed as it is read, tensors to their devices
//             setState                       restore.ts          only when all have been read and verified

/** Options of {@link CheckpointManager}. */
export interface CheckpointManagerOptions {
  readonly store: CheckpointStore;
  /** Which checkpoints stay. Default: all. */
  readonly keep?: Keep;
  readonly clock?: Clock;
  /** The run's name, in manifests and in the message of a locked store. Default: "a run". */
  readonly run?: string;
  /** Gets warnings: checkpoints passed over, leftovers removed. */
  readonly warn?: (text: string) => void;
  /** @internal What to do where no checkpoint has the score that `keep.best` goes by. */
  readonly hint?: string;
  /** Finds out what computes; for tests. */
  readonly computedBy?: typeof computedBy;
}

/** A checkpoint that has been committed. */
export interface SavedCheckpoint {
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
  /** Bytes of its components' files. */
  readonly bytes: number;
}

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
  readonly #options: CheckpointManagerOptions;
  readonly #run: string;
  readonly #warn: (text: string) => void;
  readonly #computedBy: typeof computedBy;
  /** Uses of each checkpoint at present. */
  readonly #uses = new Map<string, number>();
  #lock: Promise<StoreLock> | undefined;
  #sequence: number | undefined;
  /** The write under way and those that wait for it. Never rejects. */
  #writing: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #warnedOfRule = false;

  constructor(options: CheckpointManagerOptions) {
    this.store = options.store;
    this.#options = options;
    this.#run = options.run ?? "a run";
    this.#warn = options.warn ?? (() => undefined);
    this.#computedBy = options.computedBy ?? computedBy;
    if (options.keep) checkKeep(options.keep);
  }

  /** Locks the store for this process and removes what killed writers left. The first save does it otherwise. */
  async open(): Promise<void> {
    await this.#locked();
  }

  /** True while a write is under way. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  /** Freezes components and writes them: `snapshot` and `write` in one. */
  async save(
    components: Readonly<Record<string, Stateful>>,
    metadata: CheckpointMetadata,
  ): Promise<SavedCheckpoint> {
    const checked = checkMetadata(metadata);
    return this.#enqueue(await snapshot(components), checked);
  }

  /**
   * Writes a snapshot while the caller goes on, and releases it. One write is under way at a time; others wait. A
   * failure is the caller's to await, and leaves all other checkpoints as they were.
   */
  async write(frozen: Snapshot, metadata: CheckpointMetadata): Promise<SavedCheckpoint> {
    let checked: FiledMetadata;
    try {
      checked = checkMetadata(metadata);
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
    const rule = this.#options.keep?.best;
    const savedAt = new Date((this.#options.clock ?? systemClock).wall()).toISOString();
    const manifest = await writeSnapshot(lock, frozen, metadata, {
      name,
      run: this.#run,
      sequence,
      savedAt,
      computedBy: by,
      ...(rule && { best: { metric: rule.metric, direction: rule.direction } }),
    });
    this.#sequence = sequence;
    try {
      await this.#pruneAfter(lock, name);
    } catch (error) {
      // The checkpoint is there; that old ones could not be removed is no reason to lose it.
      this.#warn(`old checkpoints could not be removed: ${messageOf(error)}`);
    }
    return { name, path: this.store.path(name), manifest, bytes: bytesIn(manifest) };
  }

  /** Resolves once nothing is being written; never rejects. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Opens a checkpoint of the store by its name, or any other by its path or address. */
  async load(nameOrPath: string): Promise<Checkpoint> {
    if (!/[/\\]/.test(nameOrPath)) return Checkpoint.open(this.store, nameOrPath);
    const { store, name } = entryAt(nameOrPath);
    return Checkpoint.open(store, name);
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

  /**
   * The best checkpoint that is whole, every byte verified, of equal ones the earlier; undefined where there are no
   * checkpoints. By default best is what `keep.best` says, here or in the run that saved them.
   *
   * @example
   * ```ts
   * const best = await manager.best({ metric: "validation/loss", direction: "min" });
   * ```
   */
  async best(rule?: BestRule): Promise<Checkpoint | undefined> {
    const manifests = await this.#manifests();
    const chosen = rule ?? this.#options.keep?.best ?? manifests.findLast(({ best }) => best)?.best;
    if (manifests.length === 0) return undefined;
    if (!chosen)
      throw new EspalierError(
        "METRIC_UNKNOWN",
        `nothing says which checkpoint of ${this.store.location} is best`,
        {
          fix: 'name the metric: best({ metric: "validation/loss", direction: "min" }); a run that keeps its best says it itself: checkpoints: { keep: { best: { metric: validation/loss, direction: min, k: 1 } } }',
        },
      );
    const unmet = unmetRule(manifests, { best: { ...chosen, k: 1 } });
    if (unmet) throw unmet;
    return firstWhole(this.store, bestFirst(manifests, chosen), this.#warn);
  }

  /** Everything that is wrong with a checkpoint; nothing where it is whole. */
  verify(name: string): Promise<readonly string[]> {
    return problemsOf(this.store, name);
  }

  /** Keeps a checkpoint from being pruned until the returned function is called. */
  use(name: string): () => void {
    const add = (count: number): void => {
      this.#uses.set(name, (this.#uses.get(name) ?? 0) + count);
    };
    add(1);
    let using = true;
    return () => {
      if (using) add(-1);
      using = false;
    };
  }

  /**
   * Removes checkpoints that no rule of `keep` keeps, never the newest whole one nor one in use, and gives their names.
   * A rule by a score that no checkpoint has is an error.
   */
  async prune(): Promise<readonly string[]> {
    const newest = await this.latest();
    const lock = await this.#locked();
    const { keep } = this.#options;
    if (!keep) return [];
    const manifests = await this.#manifests();
    const unmet = unmetRule(manifests, keep);
    if (unmet) throw unmet;
    return this.#remove(lock, expendable(manifests, keep), newest?.name);
  }

  /** After a save such a rule removes nothing, with one warning: what it goes by may come later. */
  async #pruneAfter(lock: StoreLock, saved: string): Promise<void> {
    const { keep, hint } = this.#options;
    if (!keep) return;
    const manifests = await this.#manifests();
    const unmet = manifests.length > 1 && !this.#warnedOfRule ? unmetRule(manifests, keep, hint) : undefined;
    if (unmet) {
      this.#warnedOfRule = true;
      this.#warn(`${unmet.message}\n  No checkpoint is removed until one has it.`);
    }
    await this.#remove(lock, expendable(manifests, keep, saved), saved);
  }

  async #manifests(): Promise<readonly Manifest[]> {
    // By the names of their directories: the manifest of a copy has the name of the original.
    return (await this.list()).flatMap(({ name, manifest }) => (manifest ? { ...manifest, name } : []));
  }

  async #remove(
    lock: StoreLock,
    names: readonly string[],
    newest: string | undefined,
  ): Promise<readonly string[]> {
    // Read anew each time: they are protected while the run goes on, by other processes.
    const kept = new Set(names.length > 0 ? await this.store.listProtected?.() : []);
    const removed = names.filter((name) => name !== newest && !kept.has(name) && !this.#uses.get(name));
    for (const name of removed) await lock.remove(name);
    return removed;
  }

  /** Waits for writes and unlocks the store. It can be used again: the next save locks it again. */
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
