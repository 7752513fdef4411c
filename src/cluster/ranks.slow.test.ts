import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { testEngines } from "../engine/run/engines.test-support.ts";
import type { RankLine, RankProcess } from "./rank-process.test-support.ts";
import type { RanksOptions } from "./ranks.ts";
import { requireNats, type TestServer, testServers } from "./server.test-support.ts";

const program = requireNats();
const servers = testServers();
const script = fileURLToPath(new URL("./rank-process.test-support.ts", import.meta.url));
const whole = { engine: "wasm", epochs: 4, parts: 2 } as const;

/** Starts a process. `seen` resolves with the first line of a kind that is wanted; `lines` with all when it has ended. */
function started(options: RankProcess) {
  const child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  // One that a failed test leaves behind would train for ever.
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: RankLine[] = [];
  const wanted: { readonly is: (line: RankLine) => boolean; readonly found: (line: RankLine) => void }[] = [];
  let rest = "";
  child.stdout.on("data", (part) => {
    const [...whole] = (rest + part).split("\n");
    rest = whole.pop() ?? "";
    for (const text of whole) {
      const line = JSON.parse(text) as RankLine;
      lines.push(line);
      for (const { is, found } of wanted) if (is(line)) found(line);
    }
  });
  const ended = new Promise<{ readonly lines: readonly RankLine[]; readonly code: number | null }>(
    (resolve) => child.on("close", (code) => resolve({ lines, code })),
  );
  const seen = (is: (line: RankLine) => boolean): Promise<RankLine> => {
    const there = lines.find(is);
    return there ? Promise.resolve(there) : new Promise((found) => wanted.push({ is, found }));
  };
  const go = (): void => void child.stdin.write("go\n");
  return { pid: child.pid as number, seen, ended, go, kill: (signal: NodeJS.Signals) => child.kill(signal) };
}

let runs = 0;
const connection = (
  { url, token }: TestServer,
  ranks: RanksOptions["ranks"],
  more: Partial<RanksOptions> = {},
): RanksOptions => ({
  servers: url,
  token: token as string,
  run: `run-${runs}`,
  ranks,
  grace: 1,
  gather: 3,
  patience: 120,
  ...more,
});

/** Starts processes of a run, and has them begin when all are there. */
async function launched(count: number, ranks: RanksOptions | undefined, more: Partial<RankProcess> = {}) {
  const all = Array.from({ length: count }, () => started({ ...whole, ...more, ...(ranks && { ranks }) }));
  await Promise.all(all.map((one) => one.seen(({ event }) => event === "ready")));
  for (const one of all) one.go();
  return all;
}

const lastOf = async (one: ReturnType<typeof started>): Promise<RankLine | undefined> =>
  (await one.ended).lines.at(-1);
async function alone(engine: RankProcess["engine"] = "wasm"): Promise<RankLine | undefined> {
  const [one] = await launched(1, undefined, { engine });
  return one && lastOf(one);
}
const isUpdate =
  (updates: number) =>
  (line: RankLine): boolean =>
    line.event === "update" && (line.updates ?? 0) >= updates;
/** The process that is this rank, among those that have begun. */
async function rankOf(all: readonly ReturnType<typeof started>[], rank: number, updates: number) {
  const found = await Promise.all(all.map((one) => one.seen(isUpdate(updates))));
  return all[found.findIndex((line) => line.rank === rank)] as ReturnType<typeof started>;
}

describe.skipIf(!program)("ranks that are processes, over a NATS server", { timeout: 300_000 }, () => {
  it("compute what one process does in as many micro-batches, bit for bit, also when the server is killed", async () => {
    runs++;
    const server = await servers.start();
    const engine = testEngines().at(-1) ?? "wasm";
    const expected = await alone(engine);
    const all = await launched(2, connection(server, 2), { directory: servers.directory(), engine });
    await all[0]?.seen(isUpdate(6));
    await server.kill();
    await server.restart();
    for (const one of all) {
      const last = await lastOf(one);
      expect(last).toMatchObject({ event: "end", outcome: "completed", updates: 32, ranks: 2 });
      expect(last?.hashes).toEqual(expected?.hashes);
    }
  });

  it.each([0, 1])("go on from the last checkpoint when rank %i is killed", async (lost) => {
    runs++;
    const server = await servers.start();
    const directory = servers.directory();
    const all = await launched(3, connection(server, { min: 1, max: 3 }), { directory, epochs: 6 });
    const killed = await rankOf(all, lost, 18);
    killed.kill("SIGKILL");
    const left = all.filter((one) => one !== killed);
    const ends = await Promise.all(left.map((one) => one.ended));
    for (const { lines } of ends) {
      expect(lines.at(-1)).toMatchObject({ event: "end", outcome: "completed", updates: 48, ranks: 2 });
      expect(lines.find(({ event }) => event === "said")?.text).toContain(
        `rank ${lost} (process ${killed.pid} on `,
      );
      // From a checkpoint, and not from the beginning.
      const second = lines.find(({ event, ranks }) => event === "update" && ranks === 2);
      expect(second?.updates).toBeGreaterThan(8);
    }
    expect(new Set(ends.map(({ lines }) => JSON.stringify(lines.at(-1)?.hashes))).size).toBe(1);
    expect(readdirSync(directory)).toContain("epoch-0006-update-000048");
  });

  it("end at one update when one of them is interrupted, save once, and go on as if nothing had been", async () => {
    runs++;
    const server = await servers.start();
    const directory = servers.directory();
    const expected = await alone();
    const all = await launched(2, connection(server, 2), { directory });
    (await rankOf(all, 1, 10)).kill("SIGTERM");
    const ends = await Promise.all(all.map((one) => one.ended));
    const lasts = ends.map(({ lines }) => lines.at(-1));
    expect(lasts.map((last) => last?.outcome)).toEqual(["interrupted", "interrupted"]);
    expect(ends.map(({ code }) => code)).toEqual([143, 143]);
    const [at] = lasts.map((last) => last?.updates);
    expect(lasts.map((last) => last?.updates)).toEqual([at, at]);
    expect(readdirSync(directory).filter((name) => name.endsWith(String(at).padStart(6, "0")))).toHaveLength(
      1,
    );
    for (const one of await launched(2, connection(server, 2), { directory }))
      expect((await lastOf(one))?.hashes).toEqual(expected?.hashes);
  });

  it("name the one that does not come within the patience", async () => {
    runs++;
    const server = await servers.start();
    const all = await launched(2, connection(server, 2, { patience: 4 }), { epochs: 100_000 });
    const stopped = await rankOf(all, 1, 10);
    stopped.kill("SIGSTOP");
    const { lines } = await (all.find((one) => one !== stopped) as ReturnType<typeof started>).ended;
    const { text } = lines.at(-1) ?? {};
    expect(text).toContain("RANK_LOST");
    expect(text).toContain(`rank 1 (process ${stopped.pid} on `);
    expect(text).toContain("within 4 s");
    stopped.kill("SIGKILL");
  });
});
