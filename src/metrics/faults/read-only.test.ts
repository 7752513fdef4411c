import fs, { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Sink } from "../index.ts";
import type { SinkFiles } from "../sinks/files.ts";
import { kinds, sinksIn } from "./file-sinks.test-support.ts";
import { newFolder, schedule, shared, type Trained, trained } from "./run.test-support.ts";

const refuse = (): never => {
  throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
};
/** A disk that can be read and nothing else. */
const readOnly: SinkFiles = {
  ...fs,
  openSync: ((path, flags, mode) =>
    flags === "r" ? fs.openSync(path, flags, mode) : refuse()) as typeof fs.openSync,
  mkdirSync: refuse as unknown as typeof fs.mkdirSync,
  renameSync: refuse,
  rmSync: refuse,
};

describe("a run directory that cannot be written to", () => {
  let quiet: Trained;
  let healthy: Trained;
  beforeAll(async () => {
    quiet = await trained({ silent: true });
    healthy = await trained();
  });

  /** Each sink has said once that it fails, and why; what none took is on disk, or counted as lost. */
  function expectRefused(run: Trained, why: RegExp, where: "spilled" | "lost"): void {
    expect(run.outcome).toBe("completed");
    expect(run.numbers).toEqual(quiet.numbers);
    expect(run.kept.map(shared)).toEqual(healthy.kept.map(shared));
    const total = healthy.kept.length;
    for (const kind of kinds) {
      const failures = run.said.filter((text) => text.startsWith(`sink "${kind}" fails: `));
      expect(failures).toEqual([expect.stringMatching(why)]);
      expect(run.state(kind)).toMatchObject({ written: 0, waiting: 0, spilled: 0, lost: 0, [where]: total });
      const last =
        where === "lost" ? `is missing ${total} values of ${total}` : `has not taken ${total} values`;
      expect(run.said.filter((text) => text.startsWith(`sink "${kind}" ${last}`))).toHaveLength(1);
    }
  }

  it("on a read-only disk: everything waits elsewhere for the next process", async () => {
    const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
    const run = await trained({ sinks: sinksIn(folder, () => readOnly), spill });
    expectRefused(run, /EROFS/, "spilled");
    expect(readdirSync(spill)).toHaveLength(kinds.length);
  });

  it("below something that is no directory, and what waits too: training goes on, and it is said", async () => {
    const file = join(newFolder(), "a-file");
    writeFileSync(file, "");
    const run = await trained({ sinks: sinksIn(join(file, "run")), spill: join(file, "run", "spill") });
    expectRefused(run, /a-file/, "lost");
  });

  it("by its rights", async () => {
    const folder = join(newFolder(), "run");
    mkdirSync(folder, { mode: 0o555 });
    const run = await asNobody(folder, () =>
      trained({ sinks: sinksIn(folder), spill: join(folder, "spill") }),
    );
    expectRefused(run, /EACCES/, "lost");
    expect(existsSync(join(folder, "jsonl"))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("at first: once it can, all of it is written", async () => {
    const folder = newFolder();
    let disk = readOnly;
    const files = new Proxy(fs, { get: (_, name) => disk[name as keyof SinkFiles] });
    const sinks: readonly Sink[] = sinksIn(folder, () => files).map((sink) => ({ ...sink, schedule }));
    const run = await trained({
      sinks,
      after: {
        150: () => {
          disk = fs;
        },
      },
    });
    expect(run.numbers).toEqual(quiet.numbers);
    for (const kind of kinds)
      expect(run.state(kind)).toMatchObject({ written: healthy.kept.length, lost: 0, waiting: 0 });
  });
});

/** Rights do not bind root: what it does here it does as somebody else. */
async function asNobody<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  for (let place = folder; place.includes("espalier-faults-"); place = join(place, ".."))
    chmodSync(place, 0o555);
  const back = (): void => void process.seteuid?.(0);
  onTestFinished(back);
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    back();
  }
}
