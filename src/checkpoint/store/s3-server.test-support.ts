import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A server that speaks S3, on this machine: s3rver, with the requests about uploads that it lacks. */
export interface S3Server {
  readonly endpoint: string;
  /** Objects lie in DIRECTORY/BUCKET/KEY._S3rver_object. */
  readonly directory: string;
  readonly bucket: string;
  /** Variables by which the AWS SDK finds the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Every request: "PUT /models/run/a". */
  readonly requests: string[];
  /** Looks at a request before the server does; true where it has answered itself. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** The keys of the objects of a store, relative to its prefix. */
  keysOf(prefix: string): readonly string[];
  /** Sets the times of objects of a store, as if they had been written so many seconds after now. */
  shift(prefix: string, begin: string, seconds: number): void;
  /** The ids of uploads that are neither finished nor given up. */
  uploads(): readonly string[];
  /** The file that holds an object. */
  fileOf(key: string): string;
  /** Stops answering, and breaks off what is under way. */
  down(): Promise<void>;
  /** Answers again, at the same address. */
  up(): Promise<void>;
  close(): Promise<void>;
}

interface S3rver {
  configureBuckets(): Promise<void>;
  callback(): RequestListener;
  readonly logger: { readonly exceptions: { unhandle(): void } };
}
type S3rverClass = new (options: object) => S3rver;

/** The account that s3rver has. */
const account = "S3RVER";
const suffix = "._S3rver_object";

export async function startS3(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), "espalier-s3-"));
  const bucket = "models";
  const require = createRequire(import.meta.url);
  const Server = require("s3rver") as S3rverClass;
  const restore = withTokens(require("node:crypto") as Crypto);
  const s3 = new Server({
    directory,
    silent: true,
    vhostBuckets: false,
    configureBuckets: [{ name: bucket }],
  });
  await s3.configureBuckets();
  s3.logger.exceptions.unhandle();
  const answer = s3.callback();
  const uploads = join(directory, bucket, "._S3rver_uploads");
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const http = createServer((request, response) => {
    requests.push(`${request.method} ${decodeURIComponent(request.url ?? "")}`);
    if (server.intercept?.(request, response)) return;
    if (!aboutUploads(uploads, request, response)) answer(request, response);
  });
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => http.listen(port, "127.0.0.1", () => resolve()));
  await listen(0);
  const { port } = http.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const fileOf = (key: string): string => join(directory, bucket, `${key}${suffix}`);
  const keysOf = (prefix: string): readonly string[] =>
    readdirSync(join(directory, bucket), { recursive: true, encoding: "utf8" })
      .filter((path) => path.startsWith(`${prefix}/`) && path.endsWith(suffix))
      .map((path) => path.slice(prefix.length + 1, -suffix.length))
      .sort();
  const down = (): Promise<void> =>
    new Promise((resolve) => {
      http.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  const server: S3Server = {
    endpoint,
    directory,
    bucket,
    env: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: account,
      AWS_SECRET_ACCESS_KEY: account,
    },
    requests,
    intercept: undefined,
    keysOf,
    shift: (prefix, begin, seconds) => {
      const time = Date.now() / 1000 + seconds;
      for (const key of keysOf(prefix).filter((one) => one.startsWith(begin)))
        utimesSync(fileOf(`${prefix}/${key}`), time, time);
    },
    uploads: () => idsIn(uploads),
    fileOf,
    down,
    up: () => listen(port),
    close: async () => {
      restore();
      await down();
      rmSync(directory, { recursive: true });
    },
  };
  return server;
}

type Crypto = { createCipheriv(name: string, key: Buffer, iv: Buffer): object };

/** s3rver marks the end of a page of a list by a cipher that OpenSSL 3 does not have. Nobody reads the mark. */
function withTokens(crypto: Crypto): () => void {
  const { createCipheriv } = crypto;
  crypto.createCipheriv = (name, key, iv) =>
    name === "des"
      ? createCipheriv("des-ede3-cbc", Buffer.concat([key, key, key]), iv)
      : createCipheriv(name, key, iv);
  return () => {
    crypto.createCipheriv = createCipheriv;
  };
}

/**
 * Lists uploads (GET ?uploads) and gives one up (DELETE ?uploadId=...), which s3rver cannot, and knows when one is over,
 * which s3rver takes for an internal error.
 */
function aboutUploads(uploads: string, request: IncomingMessage, response: ServerResponse): boolean {
  const { searchParams, pathname } = new URL(request.url ?? "", "http://127.0.0.1");
  const id = searchParams.get("uploadId");
  if (request.method === "DELETE" && id !== null) {
    rmSync(join(uploads, id), { recursive: true, force: true });
    response.writeHead(204).end();
    return true;
  }
  if (request.method === "POST" && id !== null && !idsIn(uploads).includes(id)) {
    response.writeHead(404, { "content-type": "application/xml" });
    response.end("<Error><Code>NoSuchUpload</Code><Message>there is no such upload</Message></Error>");
    return true;
  }
  if (request.method !== "GET" || !searchParams.has("uploads")) return false;
  const found = idsIn(uploads)
    .map((one) => ({ one, key: readFileSync(join(uploads, one, "key"), "utf8") }))
    .filter(({ key }) => key.startsWith(searchParams.get("prefix") ?? ""))
    .map(({ one, key }) => `<Upload><Key>${key}</Key><UploadId>${one}</UploadId></Upload>`);
  response.writeHead(200, { "content-type": "application/xml" });
  response.end(
    `<ListMultipartUploadsResult><Bucket>${pathname.slice(1)}</Bucket>${found.join("")}</ListMultipartUploadsResult>`,
  );
  return true;
}

function idsIn(uploads: string): readonly string[] {
  try {
    return readdirSync(uploads);
  } catch {
    return [];
  }
}
