import { codeOf, didYouMean, EspalierError, messageOf } from "../core/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import {
  type ComponentRecord,
  decodeManifest,
  longestManifest,
  type Manifest,
  manifestFile,
  recordsByFile,
} from "./manifest.ts";
import { type Placement, readComponent, type SavedTree, tensorTypes, treeOf } from "./read-component.ts";
import type { Header } from "./safetensors/header.ts";
import { type HostTensor, readHeader, readTensor } from "./safetensors/tensors.ts";
import { type CheckpointStore, fileInMemory, type StoredCheckpoint, type StoredFile } from "./store/store.ts";

/** An opened checkpoint: its manifest has been read, its states are read on request. */
export class Checkpoint {
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
  readonly #stored: StoredCheckpoint;
  readonly #files: ReturnType<typeof recordsByFile>;
  /** Components whose files are read without hashing. */
  readonly #trusted = new Set<string>();

  private constructor(name: string, path: string, manifest: Manifest, stored: StoredCheckpoint) {
    this.name = name;
    this.path = path;
    this.manifest = manifest;
    this.#stored = stored;
    this.#files = recordsByFile(manifest);
  }

  static async open(store: Pick<CheckpointStore, "path" | "open">, name: string): Promise<Checkpoint> {
    const stored = await store.open(name);
    const path = store.path(name);
    const file = await regularFile(stored, manifestFile, `${path}/${manifestFile}`).catch(
      (cause: unknown) => {
        if (codeOf(cause) !== "FILE_MISSING") throw cause;
        const missing = `there is no checkpoint ${path}: it has no ${manifestFile}`;
        throw new EspalierError("CHECKPOINT_MISSING", missing, { cause });
      },
    );
    try {
      if (file.size > longestManifest)
        throw damaged(`${path}/${manifestFile}`, `it has ${file.size} bytes, more than a manifest can have`);
      const text = new TextDecoder().decode(await file.read(0, file.size));
      return new Checkpoint(name, path, decodeManifest(text, `${path}/${manifestFile}`), stored);
    } finally {
      await file.close();
    }
  }

  /** Reads files without hashing from now on: they have been verified, or speed matters more. */
  trust(): this {
    for (const component of this.components) this.#trusted.add(component);
    return this;
  }

  get components(): readonly string[] {
    return Object.keys(this.manifest.components);
  }

  /**
   * Hashes the files of components, those that need it, and reads them without hashing from then on. A file that is not
   * as it was written is an error (CHECKPOINT_DAMAGED) that names it and its component.
   */
  async verified(components: readonly string[]): Promise<this> {
    const ends = await Promise.allSettled(components.map((component) => this.#verify(component)));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    for (const component of components) this.#trusted.add(component);
    return this;
  }

  /** The types of a component's tensors by path (`f32[2,3]`). Reads no data. */
  tensorTypes(component: string): Promise<ReadonlyMap<string, string>> {
    return this.withComponent(component, async ({ saved }) => tensorTypes(saved));
  }

  /** One tensor or array of a component by its path, without reading the rest, and without verifying it. */
  tensor(component: string, path: string): Promise<HostTensor> {
    return this.withComponent(component, ({ file, header }) => readTensor(file, header, path));
  }

  /** A component's state, verified on the way. Tensors go to the device that `placed` gives one of. */
  state(component: string, placed: Placement = () => undefined): Promise<StateTree> {
    return this.withComponent(component, async ({ file, header, saved, record }) => {
      const unchecked = this.#trusted.has(component);
      const read = await readComponent(file, header, { placed, unchecked }, saved).catch(async (error) => {
        // An engine may not take what an altered header says.
        throw unchecked || (await file.hash()) === record.sha256 ? error : this.#altered(component);
      });
      if (!unchecked && read.sha256 !== record.sha256) throw this.#altered(component);
      return read.state;
    });
  }

  /** Everything that is wrong with its files, each once; none where it is whole. Reads and hashes all of them. */
  async verify(): Promise<readonly string[]> {
    const ends = await Promise.allSettled(this.components.map((component) => this.#verify(component)));
    return [...new Set(ends.flatMap((end) => (end.status === "rejected" ? firstLine(end.reason) : [])))];
  }

  /** The hash first: a file with another hash is not worth reading. */
  async #verify(component: string): Promise<void> {
    if (this.#trusted.has(component)) return;
    await this.#open(component, async (file, record) => {
      if ((await file.hash()) !== record.sha256) throw this.#altered(component);
      await this.#read(component, file, record);
    });
  }

  /** @internal Opens a component's file for as long as `use` runs. Its data is read only where `use` does. */
  withComponent<T>(component: string, use: (opened: OpenComponent) => Promise<T>): Promise<T> {
    return this.#open(component, async (file, record) =>
      use({ file, record, ...(await this.#read(component, file, record)) }),
    );
  }

  async #open<T>(
    component: string,
    use: (file: StoredFile, record: ComponentRecord) => Promise<T>,
  ): Promise<T> {
    const record = Object.hasOwn(this.manifest.components, component)
      ? this.manifest.components[component]
      : undefined;
    if (!record)
      throw new EspalierError(
        "COMPONENT_UNKNOWN",
        `${this.path} has no component "${component}"${didYouMean(component, this.components)}`,
      );
    const whole = this.#place(record.file);
    const file = await regularFile(this.#stored, record.file, whole).catch((cause) => {
      throw codeOf(cause) === "CHECKPOINT_DAMAGED" ? cause : damaged(whole, "its file is missing", cause);
    });
    try {
      const { offset = 0, bytes } = this.#files.get(record.file)?.at(-1) ?? record;
      if (file.size !== offset + bytes)
        throw damaged(whole, `it has ${file.size} bytes of ${offset + bytes}`);
      return await use(file.size === record.bytes ? file : await partOf(file, record), record);
    } finally {
      await file.close();
    }
  }

  /** Reads the header of a component's file. */
  async #read(
    component: string,
    file: StoredFile,
    { tensors }: ComponentRecord,
  ): Promise<Pick<OpenComponent, "header" | "saved">> {
    try {
      const header = await readHeader(file);
      const saved = treeOf(header);
      if (saved.leaves.size === tensors) return { header, saved };
    } catch (cause) {
      const [why] = String(cause instanceof Error ? cause.message : cause).split(" [");
      throw this.#damaged(component, `its header cannot be read: ${why}`, cause);
    }
    throw this.#damaged(component, `it does not have the ${tensors} tensors that the manifest says`);
  }

  #altered(component: string): EspalierError {
    return this.#damaged(component, "it was altered: its hash does not fit");
  }

  #damaged(component: string, why: string, cause?: unknown): EspalierError {
    return damaged(this.#place(this.manifest.components[component]?.file ?? "", [component]), why, cause);
  }

  /** A file, and components in it: all of them, where all are meant. */
  #place(
    file: string,
    components = this.components.filter((name) => this.manifest.components[name]?.file === file),
  ): string {
    const names = components.map((name) => `"${name}"`).join(", ");
    return `${this.path}/${file} (component${components.length === 1 ? "" : "s"} ${names})`;
  }
}

/** A component that shares its file with others, which are all small. */
const partOf = async (
  file: StoredFile,
  { file: name, offset = 0, bytes }: ComponentRecord,
): Promise<StoredFile> => fileInMemory(await file.read(offset, bytes), name);

/** A component's file, opened. */
export interface OpenComponent {
  readonly file: StoredFile;
  readonly record: ComponentRecord;
  readonly header: Header;
  readonly saved: SavedTree;
}

const damaged = (file: string, why: string, cause?: unknown): EspalierError =>
  new EspalierError("CHECKPOINT_DAMAGED", `${file}: ${why}`, {
    fix: "use another checkpoint: latest() gives the newest that is whole",
    cause,
  });

const regularFile = (stored: StoredCheckpoint, name: string, place: string): Promise<StoredFile> =>
  stored.file(name).catch((cause: unknown) => {
    if (codeOf(cause) !== "FILE_NOT_REGULAR") throw cause;
    throw damaged(place, "it is a pipe, a device or a directory, not a regular file", cause);
  });

/** A checkpoint in a list: its manifest, or why it cannot be read. */
export interface CheckpointEntry {
  readonly name: string;
  readonly path: string;
  readonly manifest?: Manifest;
  readonly problem?: string;
  /** The error that the problem is of. */
  readonly error?: unknown;
}

/** All checkpoints of a store, the oldest first; those that cannot be read, whose age is unknown, in front. */
export async function listCheckpoints(store: CheckpointStore): Promise<readonly CheckpointEntry[]> {
  const entries = await Promise.all(
    (await store.list()).map(async (name): Promise<readonly CheckpointEntry[]> => {
      const path = store.path(name);
      try {
        return [{ name, path, manifest: (await Checkpoint.open(store, name)).manifest }];
      } catch (error) {
        // Logs and the like may lie beside checkpoints.
        const foreign = foreignCodes.includes(codeOf(error) ?? "") && !isCheckpointName(name);
        return foreign ? [] : [{ name, path, problem: firstLine(error), error }];
      }
    }),
  );
  return entries.flat().sort(byAge);
}

const foreignCodes = ["CHECKPOINT_MISSING", "STORE_NAME"];

/**
 * Older first: by the number each checkpoint got when it was saved. Clocks may go backwards, and a run that went back
 * to an earlier checkpoint has lower counters than what it left behind.
 */
function byAge(a: CheckpointEntry, b: CheckpointEntry): number {
  if (!a.manifest || !b.manifest) return Number(a.manifest !== undefined) - Number(b.manifest !== undefined);
  return (
    a.manifest.sequence - b.manifest.sequence ||
    a.manifest.counters.updates - b.manifest.counters.updates ||
    a.manifest.counters.epochs - b.manifest.counters.epochs ||
    (a.name < b.name ? -1 : 1)
  );
}

/** A store whose checkpoints are written by several ranks, a part each. A checkpoint is whole if all its parts are. */
export interface PartedStore extends CheckpointStore {
  partsOf(name: string): Promise<readonly Pick<CheckpointStore, "path" | "open">[]>;
}

/**
 * The newest checkpoint that is whole, verified; others are passed over with a warning. One of a newer format is not
 * damaged: passing over it would go back to an earlier state, so that it is an error (CHECKPOINT_NEWER).
 */
export async function latestWhole(
  store: CheckpointStore,
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> {
  const entries = await listCheckpoints(store);
  for (const { path, problem, error } of entries) {
    if (codeOf(error) === "CHECKPOINT_NEWER") throw error;
    if (problem !== undefined) warn(passedOver(path, [problem]));
  }
  const whole = entries.filter(({ manifest }) => manifest).reverse();
  return firstWhole(
    store,
    whole.map(({ name }) => name),
    warn,
  );
}

/** The first of some checkpoints that is whole, verified; others are passed over with a warning. */
export async function firstWhole(
  store: CheckpointStore,
  names: readonly string[],
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> {
  for (const name of names) {
    const problems = await problemsOf(store, name);
    if (problems.length === 0) return (await Checkpoint.open(store, name)).trust();
    warn(passedOver(store.path(name), problems));
  }
  return undefined;
}

const passedOver = (path: string, problems: readonly string[]): string =>
  `the checkpoint ${path} is passed over: ${problems.join("; ")}`;

/** Everything that is wrong with a checkpoint, in the parts of all ranks. */
export async function problemsOf(
  store: CheckpointStore | PartedStore,
  name: string,
): Promise<readonly string[]> {
  const parts = "partsOf" in store ? await store.partsOf(name) : [store];
  const found = parts.map(async (part) => {
    try {
      return await (await Checkpoint.open(part, name)).verify();
    } catch (error) {
      return [firstLine(error)];
    }
  });
  return (await Promise.all(found)).flat();
}

const firstLine = (error: unknown): string => messageOf(error).split("\n")[0] ?? "";

/** `epoch-0012-update-000480`: after 12 epochs and 480 updates. A name that is taken gets `-2`, `-3`, ... */
export function checkpointName(
  { epochs, updates }: Pick<Counters, "epochs" | "updates">,
  taken: readonly string[],
): string {
  const name = `epoch-${String(epochs).padStart(4, "0")}-update-${String(updates).padStart(6, "0")}`;
  let free = name;
  for (let count = 2; taken.includes(free); count++) free = `${name}-${count}`;
  return free;
}

/** True for names that checkpoints get. */
export const isCheckpointName = (name: string): boolean => /^epoch-\d+-update-\d+(-\d+)?$/.test(name);
