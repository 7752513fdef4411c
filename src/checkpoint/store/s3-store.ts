import {
  EspalierError,
  node,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import { S3Lease } from "./s3-lease.ts";
import { Connection, type S3Credentials, S3Objects } from "./s3-objects.ts";
import {
  alreadyThere,
  type CheckpointStore,
  type CheckpointWriter,
  checkName,
  type FileWriter,
  missingFile,
  type StoredFile,
  type StoreLock,
} from "./store.ts";

// A store in a bucket. Objects cannot be renamed: a checkpoint is there once a small object, written last, says so.
//
//   s3://bucket/prefix/
//     .lock/TOKEN                     the right to write (s3-lease.ts)
//     .begun/NAME/TOKEN               begun, or being removed: what is left of it is removed by the next writer
//     NAME/TOKEN/manifest.json, ...   files, in a folder of this one attempt: nobody else ever writes there
//     .committed/NAME/TOKEN.UNTIL     it is whole. It counts if the server got it before UNTIL (the server's time, in
//                                     seconds), when the writer's lock may run out: one that was delayed until others
//                                     could write, and remove its files, does not count
//
//   save     .begun, files, renew the lock, .committed, remove .begun
//   remove   .begun, remove .committed, remove files, remove .begun

const mebibyte = 1024 * 1024;

const optionTable = {
  /** The server. Default: AWS_ENDPOINT_URL_S3, else Amazon's. */
  endpoint: option.text({ doc: "The server." }),
  /** Default: AWS_REGION or the profile's; "us-east-1" for servers other than Amazon's. */
  region: option.text({ doc: "Its region." }),
  /** Default: the AWS SDK's chain: AWS_ACCESS_KEY_ID, AWS_PROFILE, the machine's role. */
  credentials: option.made<S3Credentials>(
    "keys, { accessKeyId, secretAccessKey }, or a function that gives them",
    (value) =>
      typeof value === "function" || (typeof value === "object" && value !== null && "accessKeyId" in value),
    { doc: "Default: the AWS SDK's chain." },
  ),
  /** Addresses buckets by path instead of by host name. Default: true for servers other than Amazon's. */
  pathStyle: option.flag({ doc: "Addresses buckets by path instead of by host name." }),
  /** Bytes of a part. Files that are larger are written in parts, at most 10,000 of them. Default: 8 MiB. */
  partSize: option.integer({ min: 5 * mebibyte, max: 1024 * mebibyte, default: 8 * mebibyte }),
  /** Seconds after which the lock of a process that has died may be taken over. Default: 60. */
  lease: option.integer({ min: 5, default: 60, doc: "Seconds after which a dead writer's lock runs out." }),
  /** Seconds for which a request is repeated while the server is away. Default: 60. */
  patience: option.number({ min: 0, default: 60, doc: "Seconds for which a request is repeated." }),
};

/** Options of {@link s3Store}. */
export interface S3StoreOptions extends Options<typeof optionTable> {}

/** The same, checked and completed. */
export type S3Settings = Settings<typeof optionTable>;

/** Parts of a file that are on their way at once, to the server or from it. */
const atOnce = 4;
/** The most parts that S3 takes. */
const mostParts = 10_000;

/** A store on S3. */
export interface S3Store extends CheckpointStore {
  /** @internal The objects that it consists of. */
  readonly objects: S3Objects;
  /** @internal The store in a folder of this one, by the same connection. */
  below(folder: string): S3Store;
}

export const isS3Store = (store: object): store is S3Store => "objects" in store;

/**
 * Checkpoints in a bucket of S3, or of a server that speaks its protocol (MinIO, Ceph, R2). A checkpoint is listed once
 * it is whole. Endpoint and credentials come from the environment where they are not given. It needs
 * `@aws-sdk/client-s3`.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: s3Store("s3://models/mnist", { endpoint: "http://minio:9000" }) });
 * ```
 */
export function s3Store(address: string, options: S3StoreOptions = {}): CheckpointStore {
  const settings = resolveOptions("s3Store", options, optionTable);
  const { bucket, prefix } = s3Parts(address);
  const objects = new S3Objects(bucket, prefix === "" ? "" : `${prefix}/`, new Connection(settings));
  return storeOf(objects, settings);
}

/** Writes one object, at once: it is there as a whole or not at all. */
export async function writeObject(address: string, bytes: Uint8Array): Promise<void> {
  const { objects, key } = objectAt(address);
  await objects.put(key, bytes);
}

/** Reads one object. One that is not there is an error with the code FILE_MISSING. */
export async function readObject(address: string): Promise<Uint8Array> {
  const { objects, key } = objectAt(address);
  return objects.whole(key);
}

function objectAt(address: string): { readonly objects: S3Objects; readonly key: string } {
  const { bucket, prefix } = s3Parts(address);
  const at = prefix.lastIndexOf("/") + 1;
  const connection = new Connection(resolveOptions("s3Store", {}, optionTable));
  return { objects: new S3Objects(bucket, prefix.slice(0, at), connection), key: prefix.slice(at) };
}

/** The bucket and the prefix of an address. */
export function s3Parts(address: string): { readonly bucket: string; readonly prefix: string } {
  const [, bucket, rest = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]+[a-z0-9])((?:\/[^/]+)*)\/?$/.exec(address) ?? [];
  const prefix = rest.slice(1);
  if (bucket !== undefined && !prefix.split("/").some((part) => part === "." || part === ".."))
    return { bucket, prefix };
  throw new EspalierError("CHECKPOINT_ADDRESS", `"${address}" is not an address on S3`, {
    fix: "write s3://bucket/prefix; the server is given by AWS_ENDPOINT_URL_S3 or the option `endpoint`",
  });
}

function storeOf(objects: S3Objects, settings: S3Settings): S3Store {
  const path = (name: string): string => `${objects.location}/${name}`;

  async function lock(holder = "a writer of checkpoints"): Promise<StoreLock> {
    const lease = await S3Lease.take(objects, holder, settings.lease);
    const check = async (name: string): Promise<void> => {
      checkName(name);
      await lease.check();
    };
    const cleaned = await removeLeftovers(objects).catch(async (error: unknown) => {
      await lease.release().catch(() => undefined);
      throw error;
    });
    return {
      cleaned,
      begin: async (name) => {
        await check(name);
        if ((await committed(objects, name)).length > 0) throw alreadyThere(path(name));
        return writeCheckpoint(objects, name, settings.partSize, lease);
      },
      remove: async (name) => {
        await check(name);
        for (const { token } of await committed(objects, name)) {
          await objects.put(begun(name, token), "");
          await clear(objects, name, token);
        }
      },
      release: () => lease.release(),
    };
  }

  return {
    location: objects.location,
    path,
    list: async () => [...new Set((await committed(objects)).map(({ name }) => name))],
    open: async (name) => {
      checkName(name);
      return {
        file: async (file) => {
          checkName(file);
          const [found] = await committed(objects, name);
          if (!found) throw missingFile(`${path(name)}/${file}`);
          const key = `${name}/${found.token}/${file}`;
          return storedFile(objects, key, await objects.size(key), settings.partSize);
        },
      };
    },
    lock,
    objects,
    below: (folder) => storeOf(objects.below(folder), settings),
  };
}

const begun = (name: string, token: string): string => `.begun/${name}/${token}`;

interface Committed {
  readonly name: string;
  readonly token: string;
}

/** The checkpoints that were committed in time, of one name or of all. */
async function committed(objects: S3Objects, name?: string): Promise<readonly Committed[]> {
  const entries = await objects.list(`.committed/${name === undefined ? "" : `${name}/`}`);
  return entries.flatMap(({ key, modified }) => {
    const [, of = "", token = "", until = "0"] = /^\.committed\/([^/]+)\/(\w+)\.(\d+)$/.exec(key) ?? [];
    return modified <= Number(until) * 1000 ? [{ name: of, token }] : [];
  });
}

/** Removes what killed writers left. Only the holder of the lock writes: nothing of it is under way. */
async function removeLeftovers(objects: S3Objects): Promise<readonly string[]> {
  const leftovers = (await objects.list(".begun/")).map(({ key }) => key.split("/").slice(1));
  if (leftovers.length === 0) return [];
  const whole = new Set((await committed(objects)).map(({ token }) => token));
  const cleaned: string[] = [];
  for (const [name = "", token = ""] of leftovers) {
    if (whole.has(token)) await objects.remove([begun(name, token)]);
    else {
      await clear(objects, name, token);
      cleaned.push(`${name}/${token}`);
    }
  }
  return cleaned;
}

/** Removes a checkpoint: first out of sight, then its files, in the end that it was begun. */
async function clear(objects: S3Objects, name: string, token: string): Promise<void> {
  const [folder, mark] = [`${name}/${token}/`, `.committed/${name}/${token}.`];
  const removeAll = async (begin: string): Promise<void> =>
    objects.remove((await objects.list(begin)).map(({ key }) => key));
  await removeAll(mark);
  await objects.abortUploads(folder);
  await removeAll(folder);
  await objects.remove([begun(name, token)]);
}

async function writeCheckpoint(
  objects: S3Objects,
  name: string,
  partSize: number,
  lease: S3Lease,
): Promise<CheckpointWriter> {
  const token = node.crypto.randomBytes(8).toString("hex");
  await objects.put(begun(name, token), "");
  const open = new Set<Upload>();
  let state: "open" | "committed" | "aborted" = "open";
  return {
    file: async (file) => {
      checkName(file);
      const upload = new Upload(objects, `${name}/${token}/${file}`, partSize);
      open.add(upload);
      return {
        write: (chunk) => upload.write(chunk),
        close: async () => {
          const record = await upload.close();
          open.delete(upload);
          return record;
        },
      };
    },
    commit: async () => {
      const until = await lease.renew();
      const key = `.committed/${name}/${token}.${until}`;
      await objects.put(key, "");
      if (objects.now() > until * 1000) {
        await objects.remove([key]);
        lease.lose();
      }
      state = "committed";
      // What cannot be removed now is removed by the next writer.
      await objects.remove([begun(name, token)]).catch(() => undefined);
    },
    abort: async () => {
      if (state !== "open") return;
      state = "aborted";
      for (const upload of open) await upload.abort().catch(() => undefined);
      await clear(objects, name, token);
    },
  };
}

/** An object being written: in one request where it is no larger than a part, else in parts. */
class Upload implements FileWriter {
  readonly #objects: S3Objects;
  readonly #key: string;
  readonly #partSize: number;
  readonly #hash = node.crypto.createHash("sha256");
  #bytes = 0;
  /** Bytes that wait to be sent: fewer than a part. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #id: Promise<string> | undefined;
  /** The tags of parts, as they come. */
  readonly #parts: Promise<string>[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(objects: S3Objects, key: string, partSize: number) {
    this.#objects = objects;
    this.#key = key;
    this.#partSize = partSize;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    this.#hash.update(chunk);
    this.#bytes += chunk.byteLength;
    for (let at = 0; at < chunk.byteLength; ) {
      // A part is sent once there is more to come: the last one is sent by `close`.
      if (this.#waitingBytes === this.#partSize) await this.#sendPart();
      const piece = chunk.subarray(at, at + this.#partSize - this.#waitingBytes);
      this.#waiting.push(piece);
      this.#waitingBytes += piece.byteLength;
      at += piece.byteLength;
    }
  }

  async close(): Promise<{ readonly bytes: number; readonly sha256: string }> {
    if (this.#id === undefined) await this.#objects.put(this.#key, this.#taken());
    else {
      await this.#sendPart();
      const tags = await Promise.all(this.#parts);
      await this.#objects.finishUpload(this.#key, await this.#id, tags, this.#bytes);
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  async abort(): Promise<void> {
    if (this.#id === undefined) return;
    await Promise.allSettled(this.#parts);
    await this.#objects.abortUpload(this.#key, await this.#id);
  }

  async #sendPart(): Promise<void> {
    const number = this.#parts.length + 1;
    if (number > mostParts)
      throw new EspalierError(
        "STORE_FAILED",
        `${this.#key} is larger than ${mostParts} parts of ${this.#partSize} bytes`,
        { fix: "raise `partSize` of s3Store" },
      );
    this.#id ??= this.#objects.startUpload(this.#key);
    const body = this.#taken();
    const part = this.#id.then((id) => this.#objects.putPart(this.#key, id, number, body));
    part.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    this.#parts.push(part);
    await this.#parts.at(-atOnce);
  }

  #taken(): Uint8Array {
    const [only = new Uint8Array(), ...more] = this.#waiting;
    const body = more.length === 0 ? only : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return body;
  }
}

/** A file of a checkpoint, read in pieces of a part's size, some of them ahead. */
function storedFile(objects: S3Objects, key: string, size: number, partSize: number): StoredFile {
  async function* pieces(from: number, length: number): AsyncGenerator<Uint8Array> {
    if (from + length > size)
      throw new EspalierError(
        "FILE_TRUNCATED",
        `${objects.location}/${key} has ${size} bytes, not ${from + length}`,
      );
    const count = Math.ceil(length / partSize);
    const coming: Promise<Uint8Array>[] = [];
    for (let i = 0; i < count; i++) {
      for (let next = i + coming.length; next < Math.min(count, i + atOnce); next++) {
        const at = next * partSize;
        const piece = objects.read(key, from + at, Math.min(partSize, length - at));
        piece.catch(() => undefined); // It is awaited in its turn.
        coming.push(piece);
      }
      yield (await coming.shift()) as Uint8Array;
    }
  }

  async function readHashed(
    lengths: readonly number[],
    take: (piece: Uint8Array, index: number) => void,
  ): Promise<string> {
    const hash = node.crypto.createHash("sha256");
    let index = 0;
    let filled = 0;
    let target = new Uint8Array(lengths[0] ?? 0);
    const takeFull = (): void => {
      for (; index < lengths.length && filled === target.length; filled = 0) {
        take(target, index++);
        target = new Uint8Array(lengths[index] ?? 0);
      }
    };
    takeFull();
    for await (const piece of pieces(0, size)) {
      hash.update(piece);
      for (let at = 0; at < piece.length && index < lengths.length; takeFull()) {
        const part = piece.subarray(at, at + target.length - filled);
        target.set(part, filled);
        filled += part.length;
        at += part.length;
      }
    }
    return hash.digest("hex");
  }

  return {
    size,
    read: async (from, length, into = new Uint8Array(length)) => {
      let at = 0;
      for await (const piece of pieces(from, length)) {
        into.set(piece, at);
        at += piece.length;
      }
      return into;
    },
    readHashed,
    hash: () => readHashed([], () => undefined),
    close: async () => undefined,
  };
}
