import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { checkStore } from "../../testing/stores/check-store.ts";
import { Holder, somebody } from "../fakes.test-support.ts";
import { CheckpointManager, type CheckpointManagerOptions, openCheckpoint } from "../index.ts";
import { systemProcesses } from "./lock.ts";
import { type S3Server, startS3 } from "./s3-server.test-support.ts";
import { type S3StoreOptions, s3Store } from "./s3-store.ts";
import type { CheckpointStore, StoreLock } from "./store.ts";

let server: S3Server;
beforeAll(async () => {
  server = await startS3();
  for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
  // Failures are repeated by the store itself, which is what is tested.
  vi.stubEnv("AWS_MAX_ATTEMPTS", "1");
});
afterEach(() => {
  server.intercept = undefined;
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

let places = 0;
const newPlace = (): string => `place-${places++}`;
const storeIn = (place: string, options: S3StoreOptions = {}): CheckpointStore =>
  s3Store(`s3://${server.bucket}/${place}`, options);
const managerOf = (store: CheckpointStore, more: Partial<CheckpointManagerOptions> = {}): CheckpointManager =>
  new CheckpointManager({ store, computedBy: async () => somebody, ...more });
const save = (manager: CheckpointManager, epochs: number) =>
  manager.save({ part: new Holder({ w: Float32Array.of(epochs, 2), epochs }) }, { counters: { epochs } });

/** The claim of another process. */
function claim(place: string, about: object, seconds = 0): void {
  const file = server.fileOf(`${place}/.lock/another`);
  mkdirSync(dirname(file), { recursive: true });
  const other = { pid: 7, host: "elsewhere", start: null, holder: "their run", lease: 60, machine: null };
  writeFileSync(file, JSON.stringify({ ...other, ...about }));
  server.shift(place, ".lock/another", seconds);
}

async function write(lock: StoreLock, name: string, files: Readonly<Record<string, Uint8Array>>) {
  const writer = await lock.begin(name);
  for (const [file, bytes] of Object.entries(files)) {
    const opened = await writer.file(file);
    await opened.write(bytes.slice());
    await opened.close();
  }
  return writer;
}

describe("the store on S3", () => {
  it.each(checkStore((place) => storeIn(place)))("$name", ({ run }) => run());

  it("leaves nothing behind but what was committed", async () => {
    const place = newPlace();
    const manager = managerOf(storeIn(place), { keep: { last: 2 } });
    for (const epochs of [1, 2, 3]) await save(manager, epochs);
    await manager.close();
    expect(server.keysOf(place).map((key) => key.replace(/[0-9a-f]{16}(\.\d+)?/, "TOKEN"))).toEqual(
      ["epoch-0002-update-000000", "epoch-0003-update-000000"]
        .flatMap((name) => [`.committed/${name}/TOKEN`])
        .concat(
          ["epoch-0002-update-000000", "epoch-0003-update-000000"].flatMap((name) =>
            ["manifest.json", "values.bin"].map((file) => `${name}/TOKEN/${file}`),
          ),
        ),
    );
  });

  it("serves a manager: latest, retention, restore, and addresses", async () => {
    const place = newPlace();
    const manager = managerOf(storeIn(place), { keep: { last: 2 } });
    for (const epochs of [1, 2, 3]) await save(manager, epochs);
    expect((await manager.list()).map(({ name }) => name)).toEqual([
      "epoch-0002-update-000000",
      "epoch-0003-update-000000",
    ]);
    const part = new Holder({ w: new Float32Array(2), epochs: 0 });
    const latest = await manager.latest();
    if (latest) await manager.restore({ part }, latest);
    expect(part.state).toEqual({ w: Float32Array.of(3, 2), epochs: 3 });
    await manager.close();

    const at = `s3://${server.bucket}/${place}`;
    for (const address of [at, `${at}/`, `${at}/epoch-0003-update-000000`, new URL(at)]) {
      const opened = await openCheckpoint(address);
      expect(opened.path).toBe(`${at}/epoch-0003-update-000000`);
    }
    const named = await managerOf(storeIn("elsewhere")).load(`${at}/epoch-0002-update-000000`);
    expect(await named.state("part")).toMatchObject({ epochs: 2 });
    await expect(openCheckpoint(`${at}/epoch-0003-update-00000`)).rejects.toThrow(
      /no whole checkpoint at s3:.*did you mean "epoch-0003-update-000000".*CHECKPOINT_MISSING/s,
    );
    await expect(openCheckpoint(`s3://${server.bucket}`)).rejects.toMatchObject({
      code: "CHECKPOINT_MISSING",
    });
  });

  it("detects a file that was cut or altered: the newest whole checkpoint is used", async () => {
    const place = newPlace();
    const warnings: string[] = [];
    const manager = managerOf(storeIn(place), { warn: (text) => void warnings.push(text) });
    for (const epochs of [1, 2, 3]) await save(manager, epochs);
    const fileOf = (epochs: number): string =>
      server.fileOf(
        join(
          place,
          server
            .keysOf(place)
            .find((key) => key.startsWith(`epoch-000${epochs}`) && key.includes("values")) ?? "",
        ),
      );
    truncateSync(fileOf(3), 100);
    const altered = readFileSync(fileOf(2));
    altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1;
    writeFileSync(fileOf(2), altered);
    expect((await manager.latest())?.name).toBe("epoch-0001-update-000000");
    expect(warnings.join("\n")).toMatch(/epoch-0003.*it has 100 bytes of.*epoch-0002.*hash does not fit/s);
    await manager.close();
  });
});

describe("a server that fails", () => {
  const away = (
    times: number,
    matching: (request: IncomingMessage) => boolean,
    how: (response: ServerResponse) => void,
  ) => {
    let left = times;
    server.intercept = (request, response) => {
      if (left === 0 || !matching(request)) return false;
      left--;
      how(response);
      return true;
    };
  };

  it.each<[string, (response: ServerResponse) => void]>([
    ["is busy", (response) => void response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>")],
    ["breaks off", (response) => void response.destroy()],
  ])("and %s is asked again", async (_, how) => {
    const manager = managerOf(storeIn(newPlace()));
    await save(manager, 1);
    away(3, () => true, how);
    await save(manager, 2);
    expect((await manager.latest())?.manifest.counters.epochs).toBe(2);
    await manager.close();
  });

  it("and breaks off in the middle of a file is asked for it again", async () => {
    const store = storeIn(newPlace());
    const lock = await store.lock();
    const all = new Uint8Array(200_000).map((_, i) => i % 251);
    await (await write(lock, "one", { data: all })).commit();
    let broken = 0;
    server.intercept = (request, response) => {
      if (request.method !== "GET" || !request.url?.includes("/data") || broken > 0) return false;
      const writeAll = response.write.bind(response) as (chunk: Uint8Array) => boolean;
      response.write = ((chunk: Uint8Array) => {
        broken++;
        writeAll(chunk.subarray(0, 1000));
        response.destroy();
        return false;
      }) as typeof response.write;
      return false;
    };
    const stored = await (await store.open("one")).file("data");
    expect(Buffer.from(await stored.read(0, all.length)).equals(all)).toBe(true);
    expect(broken).toBe(1);
    await lock.release();
  });

  it.each<[string, S3StoreOptions, string, RegExp]>([
    ["the bucket is wrong", {}, "s3://no-such-bucket/run", /no bucket "no-such-bucket".*STORE_BUCKET/s],
    [
      "the credentials are wrong",
      { credentials: { accessKeyId: "wrong", secretAccessKey: "wrong" } },
      "s3://models/run",
      /InvalidAccessKeyId.*STORE_CREDENTIALS.*AWS_ACCESS_KEY_ID/s,
    ],
    [
      "nothing is at the endpoint",
      { endpoint: "http://127.0.0.1:1" },
      "s3://models/run",
      /does not answer.*ECONNREFUSED.*STORE_UNREACHABLE.*AWS_ENDPOINT_URL_S3/s,
    ],
  ])("is told at once where %s", async (_, options, address, message) => {
    const store = s3Store(address, options);
    await expect(store.list()).rejects.toThrow(message);
    await expect(store.lock()).rejects.toThrow(message);
  });

  it.each(["s3:/models", "s3://", "s3://M/x", "s3://models//x", "s3://models/../x", "gs://models/x"])(
    "refuses the address %s",
    (address) => {
      expect(() => s3Store(address)).toThrow(/is not an address on S3.*CHECKPOINT_ADDRESS/s);
    },
  );

  it("refuses options that do not exist, and parts that S3 does not take", () => {
    expect(() => s3Store("s3://models/x", { bucket: "y" } as never)).toThrow(
      /no option "bucket".*OPTION_UNKNOWN/s,
    );
    expect(() => s3Store("s3://models/x", { partSize: 1000 })).toThrow(/partSize is 1000.*OPTION_INVALID/s);
  });
});

describe("the lock of a store on S3", () => {
  it("of a process elsewhere stands while it is renewed, and says when it runs out", async () => {
    const place = newPlace();
    claim(place, {}, -20);
    await expect(storeIn(place).lock()).rejects.toThrow(
      /in use by process 7 on elsewhere \(their run\).*renewed its lock (19|20|21) s ago.*STORE_LOCKED.*try again in 4\d s/s,
    );
    expect(server.keysOf(place)).toEqual([".lock/another"]);
  });

  it("is taken over when it has run out, by the server's clock", async () => {
    const place = newPlace();
    claim(place, {}, -63);
    // A clock that is wrong here changes nothing.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 600_000 });
    const lock = await storeIn(place)
      .lock()
      .finally(() => vi.useRealTimers());
    expect(server.keysOf(place)).not.toContain(".lock/another");
    await lock.release();
    expect(server.keysOf(place)).toEqual([]);
  });

  it.runIf(process.platform === "linux")(
    "of a process that ended on this machine is taken over at once",
    async () => {
      const place = newPlace();
      const held = await storeIn(place).lock("first");
      const own = server.keysOf(place)[0] as string;
      const mine = JSON.parse(readFileSync(server.fileOf(`${place}/${own}`), "utf8")) as object;
      await held.release();
      claim(place, { ...mine, pid: 999_999_999 });
      await (await storeIn(place).lock()).release();
      // On a machine of the same name it may still run.
      claim(place, { ...mine, pid: 999_999_999, machine: "another boot" });
      await expect(storeIn(place).lock()).rejects.toMatchObject({ code: "STORE_LOCKED" });
      claim(place, { ...mine, ...systemProcesses().self });
      await expect(storeIn(place).lock()).rejects.toThrow(/in use by this process already.*STORE_LOCKED/s);
    },
  );

  it("that was lost refuses the commit; what the other one commits stays as it is", async () => {
    const place = newPlace();
    const [first, second] = [await storeIn(place).lock("first"), storeIn(place)];
    const writer = await write(first, "one", { data: Uint8Array.of(1) });
    server.shift(place, ".lock/", -100); // As if it had stood still.
    const lock = await second.lock("second");
    expect(lock.cleaned).toEqual([expect.stringMatching(/^one\/[0-9a-f]{16}$/)]);
    await (await write(lock, "one", { data: Uint8Array.of(2) })).commit();
    await expect(writer.commit()).rejects.toThrow(/has run out.*STORE_LOCK_LOST/s);
    await writer.abort();
    await expect(first.begin("two")).rejects.toMatchObject({ code: "STORE_LOCK_LOST" });
    await first.release();
    expect(await second.list()).toEqual(["one"]);
    expect([...(await (await (await second.open("one")).file("data")).read(0, 1))]).toEqual([2]);
    await (await write(lock, "two", {})).commit();
    await lock.release();
  });

  it("that was renewed late is kept where nobody else has come, and lost to one who has", async () => {
    const place = newPlace();
    const lock = await storeIn(place).lock();
    const writer = await write(lock, "one", {});
    server.shift(place, ".lock/", -100);
    await writer.commit();
    const next = await write(lock, "two", {});
    server.shift(place, ".lock/", -100);
    claim(place, {});
    await expect(next.commit()).rejects.toMatchObject({ code: "STORE_LOCK_LOST" });
    expect(server.keysOf(place).filter((key) => key.startsWith(".lock"))).toEqual([".lock/another"]);
    expect(await storeIn(place).list()).toEqual(["one"]);
  });

  it("had run out when a commit reached the server: it does not count", async () => {
    const place = newPlace();
    const store = storeIn(place);
    const lock = await store.lock();
    await (await write(lock, "one", { data: Uint8Array.of(1) })).commit();
    await lock.release();
    server.shift(place, ".committed/", 100);
    expect(await store.list()).toEqual([]);
    await expect((await store.open("one")).file("data")).rejects.toMatchObject({ code: "FILE_MISSING" });
  });
});
