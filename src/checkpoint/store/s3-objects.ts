import type { S3 } from "@aws-sdk/client-s3";
import { EspalierError, environmentVariable } from "../../core/index.ts";
import type { S3Settings } from "./s3-store.ts";
import { missingFile } from "./store.ts";

/** Keys, or a function that gives them, such as `fromTemporaryCredentials` of the AWS SDK. */
export type S3Credentials = Keys | (() => Promise<Keys>);

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** An object in a list. */
export interface S3Entry {
  /** Relative to the prefix of its {@link S3Objects}. */
  readonly key: string;
  /** When it was written, by the server's clock, in milliseconds. */
  readonly modified: number;
}

/** A request that fails because of the network or a busy server passes; it is repeated after this many milliseconds. */
const firstDelay = 200;
/** Each time after that it waits twice as long, and no longer than this. */
const longestDelay = 5000;
/** Milliseconds for a connection to be made, and for which one may be silent. */
const timeouts = { connectionTimeout: 10_000, socketTimeout: 60_000 };

/**
 * The objects of a bucket whose keys begin with a prefix. It has the few requests that a store needs: they are repeated
 * while the server is away, and failures say what to do.
 */
export class S3Objects {
  readonly location: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #connection: Connection;

  constructor(bucket: string, prefix: string, connection: Connection) {
    this.location = `s3://${bucket}${prefix === "" ? "" : `/${prefix.slice(0, -1)}`}`;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#connection = connection;
  }

  /** The objects in a folder of these. */
  below(folder: string): S3Objects {
    return new S3Objects(this.#bucket, `${this.#prefix}${folder}/`, this.#connection);
  }

  /** The time of the server's clock, in milliseconds, as its newest answer told it. */
  now(): number {
    return this.#connection.now();
  }

  /** Writes an object: it is there as a whole or not at all. */
  async put(key: string, body: Uint8Array | string): Promise<void> {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    await this.#send("writing", key, (s3, at) => s3.putObject({ ...at, Body: bytes }));
  }

  async size(key: string): Promise<number> {
    return (await this.#send("reading", key, (s3, at) => s3.headObject(at))).ContentLength ?? 0;
  }

  /** Bytes of an object. A body that breaks off is requested again: the SDK repeats only what fails before it. */
  read(key: string, from: number, length: number): Promise<Uint8Array> {
    return this.#send("reading", key, async (s3, at) => {
      const range = `bytes=${from}-${from + length - 1}`;
      const { Body } = await s3.getObject({ ...at, Range: range });
      const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
      // A server may give more than was asked for, and gives less where the object is shorter.
      if (bytes.length >= length) return bytes.subarray(0, length);
      throw new EspalierError("FILE_TRUNCATED", `reading ${this.#path(key)}: it ends before it should`);
    });
  }

  /** An object that is small enough to be read at once. */
  whole(key: string): Promise<Uint8Array> {
    return this.#send("reading", key, async (s3, at) => {
      const { Body } = await s3.getObject(at);
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    });
  }

  /** All objects whose keys begin so. */
  async list(begin: string): Promise<readonly S3Entry[]> {
    const found: S3Entry[] = [];
    for (let after: string | undefined; ; ) {
      const { Contents = [], IsTruncated } = await this.#send("listing", begin, (s3, { Bucket, Key }) =>
        s3.listObjectsV2({ Bucket, Prefix: Key, ...(after !== undefined && { StartAfter: after }) }),
      );
      for (const { Key = "", LastModified } of Contents)
        found.push({ key: Key.slice(this.#prefix.length), modified: LastModified?.getTime() ?? 0 });
      after = Contents.at(-1)?.Key;
      if (!IsTruncated || after === undefined) return found;
    }
  }

  /** Removes objects. One that is not there is no error. One by one: not all servers agree on how to remove many. */
  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#send("removing", key, (s3, at) => s3.deleteObject(at))));
  }

  /** Begins an object in parts, and gives the upload's id. */
  async startUpload(key: string): Promise<string> {
    return (await this.#send("writing", key, (s3, at) => s3.createMultipartUpload(at))).UploadId ?? "";
  }

  /** Writes a part and gives its tag. Parts are numbered from 1. */
  async putPart(key: string, id: string, number: number, body: Uint8Array): Promise<string> {
    const { ETag = "" } = await this.#send("writing", key, (s3, at) =>
      s3.uploadPart({ ...at, UploadId: id, PartNumber: number, Body: body }),
    );
    return ETag;
  }

  /** Makes one object of the parts. */
  async finishUpload(key: string, id: string, tags: readonly string[], bytes: number): Promise<void> {
    const parts = tags.map((ETag, i) => ({ ETag, PartNumber: i + 1 }));
    try {
      await this.#send("writing", key, (s3, at) =>
        s3.completeMultipartUpload({ ...at, UploadId: id, MultipartUpload: { Parts: parts } }),
      );
    } catch (error) {
      // Its answer may have been lost: repeated, it finds no upload, because it is done.
      if (nameOf((error as Error).cause) !== "NoSuchUpload" || (await this.size(key)) !== bytes) throw error;
    }
  }

  /** Gives up an upload. A server that cannot do so forgets it by the bucket's lifecycle rules, if at all. */
  async abortUpload(key: string, id: string): Promise<void> {
    await this.#send("removing", key, (s3, at) => s3.abortMultipartUpload({ ...at, UploadId: id })).catch(
      unlessUnsupported,
    );
  }

  /** Gives up all uploads whose keys begin so: those of writers that were killed. */
  async abortUploads(begin: string): Promise<void> {
    const found = await this.#send("listing", begin, (s3, { Bucket, Key }) =>
      s3.listMultipartUploads({ Bucket, Prefix: Key }),
    ).catch(unlessUnsupported);
    for (const { Key = "", UploadId = "" } of found?.Uploads ?? [])
      await this.abortUpload(Key.slice(this.#prefix.length), UploadId);
  }

  #path(key: string): string {
    return `s3://${this.#bucket}/${this.#prefix}${key}`;
  }

  #send<T>(
    what: string,
    key: string,
    request: (s3: S3, at: { readonly Bucket: string; readonly Key: string }) => Promise<T>,
  ): Promise<T> {
    const at = { Bucket: this.#bucket, Key: `${this.#prefix}${key}` };
    return this.#connection.send(
      (s3) => request(s3, at),
      (error) => failure(`${what} ${this.#path(key)}`, this.#path(key), at.Bucket, error),
    );
  }
}

/** The client of a server, made at the first request. */
export class Connection {
  readonly #settings: S3Settings;
  #opened: Promise<S3> | undefined;
  /** The server's time in its newest answer, and when that came by a clock of this process that only measures. */
  #clock: { readonly server: number; readonly at: number } | undefined;

  constructor(settings: S3Settings) {
    this.#settings = settings;
  }

  now(): number {
    if (this.#clock) return this.#clock.server + performance.now() - this.#clock.at;
    throw new EspalierError("STORE_FAILED", "the server's answers do not tell its time (no Date header)");
  }

  /** Sends a request, again and again for `patience` seconds if it fails for a reason that passes. */
  async send<T>(request: (s3: S3) => Promise<T>, told: (error: unknown) => Error): Promise<T> {
    const end = performance.now() + this.#settings.patience * 1000;
    for (let delay = firstDelay; ; delay = Math.min(2 * delay, longestDelay)) {
      try {
        return await request(await this.#open());
      } catch (error) {
        const wait = delay * (0.5 + Math.random() / 2);
        // A server that has never answered may be a wrong address: that is said at once.
        if (!passes(error) || !this.#clock || performance.now() + wait > end) throw told(error);
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  #open(): Promise<S3> {
    this.#opened ??= this.#connect().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #connect(): Promise<S3> {
    const sdk = await loadSdk();
    const { endpoint, region, credentials } = this.#settings;
    const elsewhere =
      endpoint ?? environmentVariable("AWS_ENDPOINT_URL_S3") ?? environmentVariable("AWS_ENDPOINT_URL");
    // Servers other than Amazon's take any region, and few have a host name for each bucket.
    const inRegion =
      region ?? (elsewhere === undefined ? undefined : (environmentVariable("AWS_REGION") ?? "us-east-1"));
    const client = new sdk.S3({
      forcePathStyle: this.#settings.pathStyle ?? elsewhere !== undefined,
      requestHandler: timeouts,
      followRegionRedirects: true,
      // Requests are signed with the sha256 of their bodies already; older servers know no other checksums.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      ...(endpoint !== undefined && { endpoint }),
      ...(inRegion !== undefined && { region: inRegion }),
      ...(credentials !== undefined && { credentials }),
    });
    client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
        const server = Date.parse(headers?.date ?? "");
        if (Number.isFinite(server)) this.#clock = { server, at: performance.now() };
        return result;
      },
      { step: "deserialize", priority: "low", name: "espalierServerTime" },
    );
    return client;
  }
}

async function loadSdk(): Promise<typeof import("@aws-sdk/client-s3")> {
  // By a value that bundlers cannot know: most programs do not have it.
  const name = "@aws-sdk/client-s3";
  return import(/* @vite-ignore */ name).catch((cause: unknown) => {
    throw new EspalierError(
      "PACKAGE_MISSING",
      `stores on S3 need the package ${name}, which cannot be loaded`,
      {
        fix: `run \`npm install ${name}\``,
        cause,
      },
    );
  });
}

const nameOf = (error: unknown): string => (error as Error | undefined)?.name ?? "";

const statusOf = (error: unknown): number | undefined =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode;

const codesThatPass = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"];
const namesThatPass = ["TimeoutError", "RequestTimeout", "SlowDown", "ServiceUnavailable"];

/** True for failures of the network and of a server that is busy or being restarted. */
function passes(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return (
    codesThatPass.includes(code) ||
    namesThatPass.includes(nameOf(error)) ||
    [429, 500, 502, 503, 504].includes(statusOf(error) ?? 0)
  );
}

/** Rethrows, except what a server does not have. */
function unlessUnsupported(error: unknown): undefined {
  const { cause } = error as Error;
  if ([405, 501].includes(statusOf(cause ?? {}) ?? 0) || nameOf(cause) === "NoSuchUpload") return undefined;
  throw error;
}

const wrongKeys = ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"];
const wrongRegion = [
  "PermanentRedirect",
  "AuthorizationHeaderMalformed",
  "IllegalLocationConstraintException",
];

/** The error of a failed request, in words that say what to do. */
function failure(what: string, path: string, bucket: string, error: unknown): EspalierError {
  if (error instanceof EspalierError) return error;
  const { message } = error as Error;
  const [name, status] = [nameOf(error), statusOf(error)];
  const told = (code: string, words: string, fix?: string): EspalierError =>
    new EspalierError(code, `${what}: ${words}`, { cause: error, ...(fix !== undefined && { fix }) });
  if (name === "NoSuchBucket")
    return told(
      "STORE_BUCKET",
      `there is no bucket "${bucket}"`,
      "create it, or correct its name or the endpoint",
    );
  if (name === "CredentialsProviderError" || wrongKeys.includes(name))
    return told(
      "STORE_CREDENTIALS",
      status === undefined
        ? "there are no credentials"
        : `the server does not take these credentials (${name})`,
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give `credentials`",
    );
  if (wrongRegion.includes(name) || message === "Region is missing")
    return told("STORE_REGION", message, "set AWS_REGION to the bucket's region, or give `region`");
  if (status === 403)
    return told(
      "STORE_DENIED",
      "these credentials may not do that",
      `allow s3:ListBucket, GetObject, PutObject, DeleteObject, AbortMultipartUpload and ListBucketMultipartUploads on ${bucket}`,
    );
  if (status === 507 || ["QuotaExceeded", "XMinioStorageFull"].includes(name))
    return told(
      "STORE_FULL",
      "no space is left",
      "free space, or keep fewer checkpoints; those there are untouched",
    );
  if (status === 404 && name !== "NoSuchUpload") return missingFile(path, error);
  if (status === undefined && (passes(error) || "syscall" in (error as object)))
    return told(
      "STORE_UNREACHABLE",
      `the server does not answer: ${message}`,
      "see that it runs and that the endpoint is right: AWS_ENDPOINT_URL_S3, or `endpoint`",
    );
  return told("STORE_FAILED", message === "" ? name : message);
}
