import { didYouMean, EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { type Placement, readComponent, tensorTypes } from "../component/index.ts";
import { type ComponentRecord, decodeManifest, type Manifest, manifestFile } from "../manifest/index.ts";
import { type Header, type HostTensor, readHeader, readTensor } from "../safetensors/index.ts";
import type { CheckpointStore, StoredCheckpoint, StoredFile } from "../store/index.ts";

/** A checkpoint that has been opened: its manifest is read, its states are read when they are asked for. */
export class Checkpoint {
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
  readonly #stored: StoredCheckpoint;
  #trusted = false;

  private constructor(name: string, path: string, manifest: Manifest, stored: StoredCheckpoint) {
    this.name = name;
    this.path = path;
    this.manifest = manifest;
    this.#stored = stored;
  }

  static async open(store: Pick<CheckpointStore, "path" | "open">, name: string): Promise<Checkpoint> {
    const stored = await store.open(name);
    const path = store.path(name);
    const file = await stored.file(manifestFile).catch((cause: unknown) => {
      if (!(cause instanceof EspalierError) || cause.code !== "FILE_MISSING") throw cause;
      throw new EspalierError(
        "CHECKPOINT_MISSING",
        `there is no checkpoint ${path}: it has no ${manifestFile}`,
        {
          cause,
        },
      );
    });
    try {
      const text = new TextDecoder().decode(await file.read(0, file.size));
      return new Checkpoint(name, path, decodeManifest(text, `${path}/${manifestFile}`), stored);
    } finally {
      await file.close();
    }
  }

  /** Files are read without hashing from now on: they have been verified, or speed counts more. */
  trust(): this {
    this.#trusted = true;
    return this;
  }

  get components(): readonly string[] {
    return Object.keys(this.manifest.components);
  }

  /** The types of a component's tensors by path (`f32[2,3]`). Reads no data. */
  tensorTypes(component: string): Promise<ReadonlyMap<string, string>> {
    return this.#with(component, async (_, header) => tensorTypes(header));
  }

  /** One tensor or array of a component by its path, without reading the rest, and without verifying it. */
  tensor(component: string, path: string): Promise<HostTensor> {
    return this.#with(component, (file, header) => readTensor(file, header, path));
  }

  /** A component's state, verified on the way. Tensors go to the device that `placed` gives one of. */
  state(component: string, placed: Placement = () => undefined): Promise<StateTree> {
    return this.#with(component, async (file, header, { sha256 }) => {
      const read = await readComponent(file, header, { placed, unchecked: this.#trusted });
      if (!this.#trusted && read.sha256 !== sha256)
        throw this.#damaged(component, "it was altered: its hash does not fit");
      return read.state;
    });
  }

  /** Everything that is wrong with its files; none where it is whole. Reads and hashes all of them. */
  async verify(): Promise<readonly string[]> {
    const found = await Promise.all(
      this.components.map(async (component) => {
        try {
          await this.#with(component, async (file, _, { sha256 }) => {
            if ((await file.hash()) !== sha256)
              throw this.#damaged(component, "it was altered: its hash does not fit");
          });
          return undefined;
        } catch (error) {
          return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
        }
      }),
    );
    return found.filter((problem) => problem !== undefined);
  }

  async #with<T>(
    component: string,
    use: (file: StoredFile, header: Header, record: ComponentRecord) => Promise<T>,
  ): Promise<T> {
    const record = Object.hasOwn(this.manifest.components, component)
      ? this.manifest.components[component]
      : undefined;
    if (!record)
      throw new EspalierError(
        "COMPONENT_UNKNOWN",
        `${this.path} has no component "${component}"${didYouMean(component, this.components)}`,
      );
    const file = await this.#stored.file(record.file).catch((cause: unknown) => {
      throw this.#damaged(component, "its file is missing", cause);
    });
    try {
      if (file.size !== record.bytes)
        throw this.#damaged(component, `it has ${file.size} bytes of ${record.bytes}`);
      const header = await readHeader(file).catch((cause: unknown) => {
        throw this.#damaged(component, "its header cannot be read", cause);
      });
      return await use(file, header, record);
    } finally {
      await file.close();
    }
  }

  #damaged(component: string, why: string, cause?: unknown): EspalierError {
    const file = this.manifest.components[component]?.file ?? component;
    return new EspalierError("CHECKPOINT_DAMAGED", `${this.path}/${file}: ${why}`, {
      fix: "use another checkpoint: latest() gives the newest that is whole",
      cause,
    });
  }
}
