import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EngineName, engine as engineOf } from "espalier";
import { type Machine, machineDifferences, machineOf } from "./machine.ts";
import { type RecordedRun, recordedRuns } from "./runs.ts";
import { checkpointOf, type EndState, endStateOf } from "./train.ts";

/** The file runs.json. */
interface RunRecord {
  /** The commit whose sources ran. */
  readonly commit: string;
  readonly engines: Readonly<Partial<Record<EngineName, EngineRecord>>>;
}

interface EngineRecord {
  readonly machine: Machine;
  readonly runs: Readonly<Record<string, EndState>>;
}

/** What a run of the present sources is compared with. */
export interface Baseline {
  readonly run: RecordedRun;
  readonly end: EndState;
  /** Packed, taken by the recorded commit in the middle of the run. */
  readonly checkpoint: Buffer;
  /** Parts of the end state that can be compared here. */
  readonly compares: readonly (keyof EndState)[];
}

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const recordFile = (directory: string): string => join(directory, "runs.json");
const checkpointFile = (directory: string, { name }: RecordedRun, engine: EngineName): string =>
  join(directory, "checkpoints", `${name}.${engine}.json.gz`);

/** Both engines, or wasm alone where there is no plugin and `ESPALIER_REQUIRE` does not ask for one. */
export function engines(): readonly EngineName[] {
  try {
    return engineOf("xla").name === "xla" ? ["wasm", "xla"] : ["wasm"];
  } catch (error) {
    if (process.env.ESPALIER_REQUIRE?.split(",").includes("xla")) throw error;
    return ["wasm"];
  }
}

/** Trains every run and files hashes and checkpoints as those of a commit. Refuses runs that do not repeat. */
export async function recordRuns(
  commit: string,
  say: (line: string) => void,
  directory = here,
): Promise<void> {
  const record: RunRecord & { engines: Partial<Record<EngineName, EngineRecord>> } = { commit, engines: {} };
  mkdirSync(join(directory, "checkpoints"), { recursive: true });
  for (const engine of engines()) {
    const runs: Record<string, EndState> = {};
    for (const run of recordedRuns) {
      const start = performance.now();
      const end = await endStateOf(run, engine);
      const [again, checkpoint] = await checkpointOf(run, engine);
      const resumed = await endStateOf(run, engine, checkpoint);
      for (const other of [again, resumed]) {
        const differing = differences(end, other);
        if (differing.length > 0)
          throw new Error(`${run.name} on ${engine} differs from itself: ${differing}`);
      }
      runs[run.name] = end;
      writeFileSync(checkpointFile(directory, run, engine), checkpoint);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      say(`${run.name} on ${engine}: ${checkpoint.length} bytes, ${seconds} s for three runs`);
    }
    record.engines[engine] = { machine: await machineOf(engine), runs };
  }
  writeFileSync(recordFile(directory), `${JSON.stringify(record, undefined, 2)}\n`);
}

/**
 * What each run on an engine must end in. Comes from the record where this machine is of the kind that recorded;
 * elsewhere the recorded commit is trained here, from the repository's history.
 */
export async function baselinesOf(
  engine: EngineName,
  say: (line: string) => void = console.warn,
): Promise<readonly Baseline[]> {
  const record = readRecord(here);
  const recorded = record.engines[engine];
  if (!recorded) throw new Error(`${recordFile(here)} has nothing of ${engine}: record it again`);
  const other = machineDifferences(recorded.machine, await machineOf(engine));
  if (other.length === 0) return baselines(here, engine);
  if (!hasCommit(record.commit)) {
    say(
      `the record of ${engine} is of another machine (${other.join("; ")}), and ${record.commit} is not in this ` +
        "checkout's history: old checkpoints are resumed, and layouts compared, but no bits",
    );
    return baselines(here, engine).map((baseline) => ({ ...baseline, compares: ["layout"] }));
  }
  say(`the record of ${engine} is of another machine (${other.join("; ")}): training ${record.commit} here`);
  trainedHere ??= inWorktree(record.commit, other, (directory) => {
    const all = new Map(engines().map((name) => [name, baselines(directory, name)]));
    return (name) => all.get(name) ?? [];
  });
  return trainedHere(engine);
}

/** What the recorded commit computes on this machine, once it has been trained here. */
let trainedHere: ((engine: EngineName) => readonly Baseline[]) | undefined;

/** Components in which two end states differ, and those that only one has. */
export const differences = (a: EndState, b: EndState, what: keyof EndState = "bits"): readonly string[] =>
  [...new Set([...Object.keys(a[what]), ...Object.keys(b[what])])].filter(
    (name) => a[what][name] !== b[what][name],
  );

/** What to do about a run that ends otherwise than recorded, after the names of the components that differ. */
export const advice = (differing: readonly string[]): string =>
  `${differing.join(", ")} differ from what ${readRecord(here).commit} computed. ` +
  "If the numbers were meant to change, say why in the commit and record again: npm run check:runs -- --record COMMIT";

function readRecord(directory: string): RunRecord {
  return JSON.parse(readFileSync(recordFile(directory), "utf8")) as RunRecord;
}

function baselines(directory: string, engine: EngineName): readonly Baseline[] {
  const { runs = {} } = readRecord(directory).engines[engine] ?? {};
  return recordedRuns.map((run) => {
    const end = runs[run.name];
    if (!end) throw new Error(`${run.name} on ${engine} is not recorded`);
    const checkpoint = readFileSync(checkpointFile(directory, run, engine));
    return { run, end, checkpoint, compares: ["layout", "bits"] };
  });
}

/** True if the repository's history has a commit: a shallow checkout lacks older ones. */
function hasCommit(commit: string): boolean {
  try {
    execFileSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Records a commit in a worktree of its own, with the runs as they were written when it was recorded first. */
function inWorktree<T>(commit: string, why: readonly string[], use: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "espalier-recorded-commit-"));
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" });
  try {
    const written = git("log", "--diff-filter=A", "--format=%H", "--", "scripts/recorded/runs.json").trim();
    git("worktree", "add", "--detach", directory, commit);
    execFileSync("git", ["checkout", written, "--", "scripts"], { cwd: directory });
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    execFileSync(process.execPath, ["--import", "tsx", "scripts/recorded-runs.ts", "--record", commit], {
      cwd: directory,
      stdio: "inherit",
    });
    return use(join(directory, "scripts/recorded"));
  } catch (error) {
    throw new Error(
      `the recorded hashes hold for another machine (${why.join("; ")}), and ${commit} cannot be trained here: ` +
        "fetch the repository's whole history, or run this on a machine like the one that recorded",
      { cause: error },
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
    git("worktree", "prune");
  }
}
