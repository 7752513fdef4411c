import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { checkpoint as checkpointCommand } from "../../cli/checkpoint/checkpoints.test-support.ts";
import * as nn from "../../nn/index.ts";
import { adam } from "../../optim/index.ts";
import { loadActor } from "../../rl/acting/actor.ts";
import { makeEnvironment } from "../../rl/environments/registry.ts";
import { evaluateCheckpoint } from "../../rl/evaluation/evaluate-checkpoint.ts";
import { WalkTask, walkRun } from "../../rl/evaluation/run.test-support.ts";
import { readReplay, writeReplay } from "../../rl/replays/files.ts";
import { recordEpisode } from "../../rl/replays/replay.ts";
import { every } from "../../schedule/index.ts";
import { loadModel, supervisedTask } from "../../supervised/index.ts";
import { latestCheckpoint, Trainer, type TrainerHook } from "../../trainer/index.ts";
import { Holder, somebody } from "../fakes.test-support.ts";
import { hashesOf } from "../hook/runs.test-support.ts";
import { CheckpointManager, checkpointHook, type Keep, resumeTrainer, s3Store, storeAt } from "../index.ts";
import { anyRanksStore, rankedIn } from "../ranks/ranked-store.ts";
import type { RankRunOptions } from "../ranks/ranks.test-support.ts";
import { type S3Server, startS3 } from "./s3-server.test-support.ts";
import type { S3StoreOptions } from "./s3-store.ts";

let server: S3Server;
beforeAll(async () => {
  server = await startS3();
  for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
  // Failures are repeated by the store itself.
  vi.stubEnv("AWS_MAX_ATTEMPTS", "1");
});
afterEach(() => {
  server.intercept = undefined;
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

const at = (place: string): string => `s3://${server.bucket}/${place}`;
let places = 0;
const newPlace = (): string => `place-${places++}`;
const strays = (place: string): readonly string[] =>
  server.keysOf(place).filter((key) => /^\.(begun|lock)/.test(key));
const managerAt = (place: string, options: S3StoreOptions = {}, keep?: Keep): CheckpointManager =>
  new CheckpointManager({
    store: s3Store(at(place), options),
    ...(keep && { keep }),
    computedBy: async () => somebody,
  });
const save = (manager: CheckpointManager, epochs: number) =>
  manager.save({ part: new Holder({ w: Float32Array.of(epochs), epochs }) }, { counters: { epochs } });

/** Starts a program of the sources in a process of its own, with the server's address in its environment. */
function started(file: string, args: readonly string[], before: readonly string[] = []) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", ...before, path, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, out, errors }));
  return { child, ended, said: () => out };
}

describe("a run on S3", () => {
  const inputs = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i));
  const targets = Float32Array.from({ length: 32 }, (_, i) => Math.cos(i));
  function made(hooks: readonly TrainerHook[], maxUpdates = Number.POSITIVE_INFINITY) {
    const task = supervisedTask({
      model: nn.mlp({ hidden: [8], out: 1 }),
      optimizer: adam({ learningRate: 0.01 }),
      data: { x: { data: inputs, shape: [32, 2] }, y: { data: targets, shape: [32, 1] } },
      loss: nn.mse,
      batchSize: 8,
      engine: "wasm",
    });
    return new Trainer({ task, config: { epochs: 4, maxUpdates, handleSignals: false }, hooks });
  }

  it("goes on from what was saved there, bit for bit, and its model is loaded from there", async () => {
    const checkpoint = () =>
      checkpointHook({
        directory: at("run"),
        schedule: every({ updates: 3 }),
        keep: { last: 2 },
        publish: [{ to: at("published"), schedule: every({ epochs: 2 }) }],
      });
    const whole = made([checkpointHook({ directory: at("whole"), schedule: every({ updates: 3 }) })]);
    await whole.train();
    await made([checkpoint()], 7).train(); // In the middle of the second epoch.
    const resumed = made([checkpoint()]);
    const { counters } = await resumed.train();
    expect(counters.updates).toBe(16);
    const [a, b] = [await hashesOf(whole), await hashesOf(resumed)];
    expect(b.params).toBe(a.params);
    expect(b.optimizer).toBe(a.optimizer);
    expect(b.data).toBe(a.data);
    expect(strays("run")).toEqual([]);
    const { path, uri, published } = resumed.hooks.slots.get(latestCheckpoint) ?? {};
    expect(path).toBe(`${at("run")}/epoch-0004-update-000016`);
    expect([uri, published?.uri]).toEqual([1, 2].map(() => `${at("published")}/epoch-0004-update-000016`));

    const byHand = made([]);
    expect((await resumeTrainer(byHand, at("run"), { allow: ["hooks"] })).counters.updates).toBe(16);
    const model = await loadModel(published?.uri ?? "", { engine: "wasm" });
    const local = await loadModel(at("run"), { engine: "wasm" });
    expect(await model.predictOne([0.1, 0.2])).toEqual(await local.predictOne([0.1, 0.2]));
  });

  it("is inspected, verified, compared and pruned by its address", async () => {
    const manager = managerAt("cli");
    for (const epochs of [1, 2, 3]) await save(manager, epochs);
    await manager.close();
    const [one, two] = [1, 2].map((n) => `${at("cli")}/epoch-000${n}-update-000000`) as [string, string];
    expect((await checkpointCommand("inspect", at("cli"))).text).toMatch(
      /epoch-0001.*epoch-0002.*epoch-0003/s,
    );
    expect((await checkpointCommand("inspect", two)).text).toMatch(/part +.*w +f32\[1\]/s);
    expect((await checkpointCommand("verify", at("cli"))).text).toMatch(/3 of 3 are whole/);
    expect(await checkpointCommand("diff", one, two)).toMatchObject({ code: 1 });
    await checkpointCommand("prune", at("cli"), "--last", "1");
    expect(await storeAt(at("cli")).list()).toEqual(["epoch-0003-update-000000"]);
    const part = server.keysOf("cli").find((key) => /^epoch-0003.*values/.test(key));
    truncateSync(server.fileOf(`cli/${part}`), 10);
    expect(await checkpointCommand("verify", at("cli"))).toMatchObject({ code: 1 });
    expect((await checkpointCommand("inspect", at("nothing"))).error).toMatch(/CHECKPOINT_MISSING/);
  });

  it("of an agent is evaluated from there, here and by the command; its replays lie there", async () => {
    const task = new WalkTask(() => makeEnvironment("CartPole-v1"), "CartPole-v1");
    const publish = [{ to: s3Store(at("agents")), schedule: every({ epochs: 1 }) }];
    const run = walkRun(task, [checkpointHook({ directory: at("agent"), publish })], { epochs: 2 });
    await run.trainer.train();
    const uri = run.trainer.hooks.slots.get(latestCheckpoint)?.uri ?? "";
    expect(uri).toBe(`${at("agents")}/epoch-0002-update-000004`);
    const { results, ...found } = await evaluateCheckpoint(uri, { episodes: 3 });
    expect(found).toMatchObject({ path: uri, uri });
    expect((await evaluateCheckpoint(at("agent"), { episodes: 3 })).results).toEqual(results);
    expect((await loadActor<number>(uri)).act(new Float32Array(4))).toBeGreaterThanOrEqual(0);
    const command = await started("../../cli/main.ts", ["evaluate", uri, "--episodes", "3", "--json"]).ended;
    expect(command.code).toBe(0);
    expect(JSON.parse(command.out)).toMatchObject({ run: "walk", step: 4, checkpoint: uri });

    const replay = await recordEpisode({ env: makeEnvironment("CartPole-v1"), seed: 5, act: () => 1 });
    const [first, second] = await Promise.all([
      writeReplay(at("replays"), replay, { name: "first" }),
      writeReplay(at("replays"), replay, { name: "second" }),
    ]);
    expect([first.uri, second.path]).toEqual([
      `${at("replays")}/first.replay`,
      `${at("replays")}/second.replay`,
    ]);
    expect(await readReplay(first.uri)).toEqual(await readReplay(second.uri));
    const entry = await writeReplay(storeAt(at("entries")), replay, { name: "third" });
    expect(entry.uri).toBe(`${at("entries")}/third`);
    expect(await readReplay(entry.uri)).toEqual(await readReplay(first.uri));
    expect(await readReplay("third", storeAt(at("entries")))).toEqual(await readReplay(first.uri));
    for (const missing of [`${at("replays")}/none.replay`, `${at("entries")}/none`])
      await expect(readReplay(missing)).rejects.toMatchObject({ code: "REPLAY_MISSING" });
  });
});

describe("large files and long lists", { timeout: 300_000 }, () => {
  it("writes large files in parts and reads them in pieces", async () => {
    const place = newPlace();
    const store = s3Store(at(place), { partSize: 5 * 1024 * 1024 });
    const all = new Uint8Array(12 * 1024 * 1024).map((_, i) => (i * 7 + (i >> 12)) % 251);
    const lock = await store.lock();
    const before = server.requests.length;
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    for (let at = 0; at < all.length; at += 4_000_000) await file.write(all.slice(at, at + 4_000_000));
    const { bytes, sha256 } = await file.close();
    expect(bytes).toBe(all.length);
    const parts = server.requests.slice(before).filter((line) => /^PUT .*partNumber=\d/.test(line));
    expect(parts.map((line) => /partNumber=(\d)/.exec(line)?.[1]).sort()).toEqual(["1", "2", "3"]);
    await writer.commit();
    const stored = await (await store.open("one")).file("data");
    const lengths = [1, 6_000_000, 0, all.length - 6_000_001];
    const found: Uint8Array[] = [];
    expect(await stored.readHashed(lengths, (piece) => void found.push(piece.slice()))).toBe(sha256);
    expect(Buffer.concat(found).equals(all)).toBe(true);
    expect(
      Buffer.from(await stored.read(4_999_999, 6_000_000)).equals(all.subarray(4_999_999, 10_999_999)),
    ).toBe(true);
    await lock.release();
  });

  it("lists more than a page of a thousand", async () => {
    const place = newPlace();
    const names = Array.from({ length: 1003 }, (_, i) => `n${String(i).padStart(4, "0")}`);
    for (const name of names) {
      const file = server.fileOf(`${place}/.committed/${name}/0123456789abcdef.99999999999`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "");
    }
    expect(await s3Store(at(place)).list()).toEqual(names);
  });

  it("loses the answer to the last step of an upload: the file is there", async () => {
    const store = s3Store(at(newPlace()), { partSize: 5 * 1024 * 1024 });
    const lock = await store.lock();
    let lost = 0;
    server.intercept = (request, response) => {
      if (request.method !== "POST" || !request.url?.includes("uploadId") || lost > 0) return false;
      response.end = (() => {
        lost++;
        response.destroy();
        return response;
      }) as typeof response.end;
      return false;
    };
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    await file.write(new Uint8Array(6 * 1024 * 1024));
    await file.close();
    await writer.commit();
    expect(lost).toBe(1);
    expect((await (await store.open("one")).file("data")).size).toBe(6 * 1024 * 1024);
    await lock.release();
  });

  it("refuses a part: nothing is left of the upload", async () => {
    const place = newPlace();
    const store = s3Store(at(place), { partSize: 5 * 1024 * 1024 });
    const lock = await store.lock();
    server.intercept = (request, response) => {
      if (!request.url?.includes("partNumber=2")) return false;
      response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
      return true;
    };
    const writer = await lock.begin("one");
    const file = await writer.file("data");
    const whole = async (): Promise<void> => {
      for (let i = 0; i < 8; i++) await file.write(new Uint8Array(3 * 1024 * 1024));
      await file.close();
    };
    await expect(whole()).rejects.toThrow(/may not do that.*STORE_DENIED.*s3:ListBucket/s);
    expect(server.uploads()).toHaveLength(1);
    await writer.abort();
    expect(server.uploads()).toEqual([]);
    expect(server.keysOf(place).filter((key) => !key.startsWith(".lock"))).toEqual([]);
    await lock.release();
  });
});

describe("a writer that dies", { timeout: 600_000 }, () => {
  it("at any request leaves whole checkpoints, and nothing that the next writer does not remove", async () => {
    const died = new Set<string>();
    for (let requests = 1; ; requests++) {
      const place = newPlace();
      const manager = managerAt(place, { patience: 0, partSize: 5 * 1024 * 1024 }, { last: 1 });
      await save(manager, 1);
      let left = requests;
      server.intercept = (_, response) => {
        if (left-- > 0) return false;
        response.destroy();
        return true;
      };
      const large = { part: new Holder({ w: new Float32Array(1_400_000).fill(2), epochs: 2 }) };
      const ended = await manager.save(large, { counters: { epochs: 2 } }).catch(() => undefined);
      const over = left >= 0;
      server.intercept = undefined;

      const next = managerAt(place);
      const names = (await next.list()).map(({ name }) => name);
      for (const name of names) expect(await next.verify(name)).toEqual([]);
      expect(names.length).toBeGreaterThan(0);
      died.add(names.join());
      server.shift(place, ".lock/", -100); // Now, because the first one lives and renews its claim.
      await next.open();
      expect((await next.list()).map(({ name }) => name)).toEqual(names);
      const latest = await next.latest();
      if (ended) expect(latest?.manifest.counters.epochs).toBe(2);
      expect(await latest?.state("part")).toMatchObject({ epochs: latest?.manifest.counters.epochs });
      await next.close();
      // What is committed, and the claim of the one that died, which was taken over.
      expect(server.keysOf(place).filter((key) => /^\.(begun|lock)/.test(key))).toEqual([]);
      expect(server.keysOf(place).filter((key) => !key.startsWith("."))).toHaveLength(2 * names.length);
      expect(server.uploads()).toEqual([]);
      if (over) break;
    }
    // It died before the commit, between the commit and the removal of the older one, and after that.
    expect([...died].map((names) => names.replaceAll("-update-000000", "")).sort()).toEqual([
      "epoch-0001",
      "epoch-0001,epoch-0002",
      "epoch-0002",
    ]);
  });
});

describe("processes", { timeout: 300_000 }, () => {
  it("that are killed while they save leave whole checkpoints; the next writer removes the rest", async () => {
    // Requests of the second save after which the process is killed: begun, a file, the commit, the removal.
    for (const [i, requests] of [3, 7, 11].entries()) {
      const place = `killed-${i}`;
      const saver = started("../saver.test-support.ts", [at(place), "1"]);
      let left = requests;
      server.intercept = () => {
        if (saver.said().includes("begin 2") && --left === 0) saver.child.kill("SIGKILL");
        return false;
      };
      await saver.ended;
      server.intercept = undefined;
      const last = (word: string): number =>
        Number([...saver.said().matchAll(new RegExp(`${word} (\\d+)`, "g"))].at(-1)?.[1] ?? 0);
      const warnings: string[] = [];
      const manager = new CheckpointManager({
        store: storeAt(at(place)),
        keep: { last: 2 },
        warn: (text) => void warnings.push(text),
      });
      const found = (await manager.latest())?.manifest.counters.epochs ?? 0;
      expect(found).toBeGreaterThanOrEqual(last("end"));
      expect(found).toBeLessThanOrEqual(last("begin"));
      for (const { name } of await manager.list()) expect(await manager.verify(name)).toEqual([]);
      // The process is known to have ended: its lock need not run out.
      await manager.open();
      expect((await manager.latest())?.manifest.counters.epochs).toBe(found);
      await manager.close();
      expect(strays(place)).toEqual([]);
      const folders = server.keysOf(place).filter((key) => key.startsWith("epoch"));
      expect(new Set(folders.map((key) => key.split("/")[1])).size).toBe((await manager.list()).length);
      expect(server.uploads()).toEqual([]);
    }
  });

  it("whose server is away for a while go on saving when it is back", async () => {
    const manager = managerAt("away");
    await save(manager, 1);
    await server.down();
    const saved = save(manager, 2);
    setTimeout(() => void server.up(), 1500);
    expect((await saved).name).toBe("epoch-0002-update-000000");
    await server.down();
    const impatient = managerAt("away", { patience: 1 });
    await expect(impatient.list()).rejects.toMatchObject({ code: "STORE_UNREACHABLE" });
    await server.up();
    expect((await impatient.latest())?.manifest.counters.epochs).toBe(2);
    await manager.close();
  });

  it("without the package are told how to install it", async () => {
    const hook = `export async function resolve(name, context, next) {
      if (name !== "@aws-sdk/client-s3") return next(name, context);
      throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    }`;
    const url = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
    const register = url(`import { register } from "node:module"; register(${JSON.stringify(url(hook))});`);
    const { code, errors } = await started(
      "../saver.test-support.ts",
      [at("none"), "1"],
      ["--import", register],
    ).ended;
    expect(code).toBe(1);
    expect(errors).toMatch(/PACKAGE_MISSING.*npm install @aws-sdk\/client-s3/s);
  });

  it("of several ranks write one checkpoint together, lose none when one is killed, and go on alike", async () => {
    const launched = (place: string, quitAt?: number, patience = 120) =>
      Promise.all(
        [0, 1].map(async (rank) => {
          const options: RankRunOptions = { directory: at(place), rank, ranks: 2, patience };
          const quit = quitAt !== undefined && rank === 1 ? { quitAt } : {};
          const { out } = await started("../ranks/ranks.test-support.ts", [
            JSON.stringify({ ...options, ...quit }),
          ]).ended;
          return out === ""
            ? undefined
            : (JSON.parse(out) as { resumedAt: number; hashes?: object; error?: string; w?: number });
        }),
      );
    const expected = await launched("ranks");
    expect(expected.map((told) => told?.error)).toEqual([undefined, undefined]);
    expect(expected[0]?.w).not.toBe(expected[1]?.w);
    const kept = ["epoch-0002-update-000008", "epoch-0003-update-000012"];
    expect([...(await storeAt(at("ranks")).list())].sort()).toEqual(kept);

    const lost = await launched("broken", 10, 10);
    expect(lost[0]?.error).toMatch(/rank 1 of 2 wrote no part of it.*RANKS_MISSING/s);
    expect(lost[1]).toBeUndefined();
    // The second may have been on its way, and then it is not there at all.
    const left = (await storeAt(at("broken")).list()).length;
    expect([1, 2]).toContain(left);
    const again = await launched("broken");
    expect(again.map((told) => told?.resumedAt)).toEqual([4 * left, 4 * left]);
    expect(again.map((told) => told?.hashes)).toEqual(expected.map((told) => told?.hashes));

    // The part of another rank counts: the newest whole one is used, and the command tells of it.
    const store = anyRanksStore(at("ranks"));
    expect((await store.partsOf(kept[1] as string)).length).toBe(2);
    const other = "ranks/.ranks/rank-0001";
    const part = server.keysOf(other).find((key) => /^epoch-0003.*values/.test(key));
    truncateSync(server.fileOf(`${other}/${part}`), 3);
    expect(await checkpointCommand("verify", at("ranks"))).toMatchObject({ code: 1 });
    expect((await checkpointCommand("inspect", at("ranks"))).text).toMatch(
      /epoch-0003-update-000012 \(2 ranks\)/,
    );
    for (const rank of [0, 1]) {
      const ranked = new CheckpointManager({ store: rankedIn(storeAt(at("ranks")), { rank, ranks: 2 }) });
      const latest = await ranked.latest();
      expect(latest?.name).toBe(kept[0]);
      expect(await latest?.state("trainer")).toBeDefined();
    }
    // A run of one rank is refused.
    const alone = started("../ranks/ranks.test-support.ts", [
      JSON.stringify({ directory: at("ranks"), rank: 0, ranks: 1 } satisfies RankRunOptions),
    ]);
    expect((await alone.ended).out).toMatch(/ranks is 2 in the checkpoint and 1 here.*CHECKPOINT_MISMATCH/s);
  });
});
