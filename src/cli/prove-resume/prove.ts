import { join } from "node:path";
import { CheckpointManager, localStore } from "../../checkpoint/index.ts";
import { EspalierError, makeDirectory } from "../../core/index.ts";
import { type ComponentDifference, diffCheckpoints } from "../checkpoint/diff.ts";
import { given } from "../options.ts";
import type { Self } from "../run-again.ts";
import { type PartDone, type PartProcess, type PartRequest, startPart } from "./process.ts";

interface ProofOptions extends Pick<PartRequest, "file" | "isRun" | "epochs" | "deterministic"> {
  /** An empty directory for checkpoints and end states. */
  readonly directory: string;
  readonly program: Self;
  /** Batches after which it is killed. */
  readonly killAt?: readonly number[];
  readonly engine?: "wasm" | "xla";
  readonly say: (line: string) => void;
}

/** A kill that took place, and the checkpoint from which the next process went on. */
export interface DoneKill extends Kill {
  readonly pid: number;
  readonly checkpoint: string;
  readonly resumedAt: number;
}

export interface Proof {
  readonly engine: string;
  readonly epochs: number;
  readonly batches: number;
  readonly kills: readonly DoneKill[];
  /** Hashes in one go and resumed, by component; a missing one is undefined. */
  readonly components: readonly {
    readonly name: string;
    readonly hashes: readonly [string | undefined, string | undefined];
  }[];
  /** Differences of the components, and the end states. */
  readonly differences: readonly ComponentDifference[];
  readonly endStates: readonly [string, string];
  readonly exact: boolean;
}

/** True for components that no two runs share: the trainer's seconds and the times of hooks. */
const isTime = (component: string): boolean => component === "time" || component.endsWith(".time");

/** Trains in one go, then with kills and resumes, each in a process of its own, and compares the end states. */
export async function proveResume(options: ProofOptions): Promise<Proof> {
  const { file, isRun, engine, directory, epochs, deterministic, say } = options;
  makeDirectory(directory);
  const env = engine ? { ESPALIER_ENGINE: engine } : {};
  const asked = given({ isRun, engine, epochs, deterministic });
  const start = (what: string, rest: Omit<PartRequest, "file">): PartProcess =>
    startPart(options.program, what, { file, ...asked, ...rest }, env);

  say("training in one go");
  const straight = await start("the run in one go", {
    checkpoints: { directory: join(directory, "in-one-go/checkpoints"), at: [] },
    endState: join(directory, "in-one-go/end"),
  }).done;
  const kills = planKills(straight.course, options.killAt);
  const checkpoints = {
    directory: join(directory, "resumed/checkpoints"),
    at: kills.map(({ save }) => save),
  };
  const endState = join(directory, "resumed/end");
  const killed: { readonly kill: Kill; readonly pid: number; readonly checkpoint: Checkpointed }[] = [];
  for (const kill of kills) {
    say(`training until it is killed after batch ${kill.at}`);
    const part = start("the run that is killed", { checkpoints, pauseAt: kill.at, endState });
    await part.told("paused");
    const checkpoint = await wholeCheckpoint(checkpoints.directory, kill, part);
    if (!(await part.kill())) await part.done.then(neverKilled);
    killed.push({ kill, pid: part.pid, checkpoint });
  }
  say("resuming to the end");
  const resumed = await start("the resumed run", { checkpoints, endState }).done;
  const last = killed.at(-1)?.checkpoint;
  if (resumed.resumedAt !== last?.batches)
    throw new EspalierError(
      "PROOF_VOID",
      `the resumed run began after batch ${resumed.resumedAt}, and the newest checkpoint is of batch ${last?.batches}`,
    );
  const done = killed.map(({ kill, pid, checkpoint: { name, batches } }) => ({
    ...kill,
    pid,
    checkpoint: name,
    resumedAt: batches,
  }));
  return compare(straight, resumed, done);
}

/** A process that waits to be killed does not end by itself, unless it fails. */
function neverKilled(): never {
  throw new EspalierError("PROOF_VOID", "the run that was to be killed came to its end");
}

type Checkpointed = Awaited<ReturnType<typeof wholeCheckpoint>>;

/** The newest whole checkpoint, waiting for the one that was to be taken; the process must not end meanwhile. */
async function wholeCheckpoint(directory: string, { save }: Kill, part: PartProcess) {
  const manager = new CheckpointManager({ store: localStore(directory) });
  let ended = false;
  part.done.catch(() => {
    ended = true;
  });
  for (;;) {
    const newest = await manager.latest();
    const batches = newest?.manifest.counters.batches ?? -1;
    if (newest && batches >= save) return { name: newest.name, batches };
    if (ended) await part.done;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function compare(straight: PartDone, resumed: PartDone, kills: Proof["kills"]): Promise<Proof> {
  const names = [...new Set([...Object.keys(straight.hashes), ...Object.keys(resumed.hashes)])];
  const components = names
    .filter((name) => !isTime(name))
    .map((name) => ({ name, hashes: [straight.hashes[name], resumed.hashes[name]] as const }));
  const exact = components.every(({ hashes: [a, b] }) => a === b);
  const endStates = [straight.endState, resumed.endState] as const;
  return {
    engine: straight.engine,
    epochs: straight.course.epochStarts.length,
    batches: straight.course.batches,
    kills,
    components,
    differences: exact ? [] : await diffCheckpoints(...endStates, names.filter(isTime)),
    endStates,
    exact,
  };
}

/** The length of a run: batches in all, and the batches done at the start of each epoch. */
export interface Course {
  readonly batches: number;
  readonly epochStarts: readonly number[];
}

/** A kill: after which batch, and after which one a checkpoint is taken before it. */
interface Kill {
  readonly at: number;
  readonly save: number;
  /** The epoch it falls into, from 0, and its batches before and after the kill. */
  readonly epoch: number;
  readonly before: number;
  readonly after: number;
}

/**
 * Chooses where to kill: after the given batches, or once in the middle of the epoch about half-way. The checkpoint
 * before it lies in the same epoch where that has two batches, so that the run resumes in the middle of it, too.
 */
export function planKills(course: Course, given?: readonly number[]): readonly Kill[] {
  const { batches, epochStarts } = course;
  if (batches < 2)
    throw new EspalierError("PROOF_TOO_SHORT", `the run has ${batches} batches: there is no middle`, {
      fix: "give more data, smaller batches or more epochs",
    });
  const chosen = given ?? [middleOf(course, Math.floor(epochStarts.length / 2))];
  for (const at of chosen)
    if (!Number.isSafeInteger(at) || at < 1 || at >= batches)
      throw new EspalierError("KILL_INVALID", `there is no kill after batch ${at}: the run has ${batches}`, {
        fix: `give whole numbers from 1 to ${batches - 1}`,
      });
  return [...new Set(chosen)].sort((a, b) => a - b).map((at) => killAt(course, at));
}

const endOf = ({ batches, epochStarts }: Course, epoch: number): number => epochStarts[epoch + 1] ?? batches;

function middleOf(course: Course, epoch: number): number {
  const start = course.epochStarts[epoch] ?? 0;
  const length = endOf(course, epoch) - start;
  return Math.min(start + Math.max(1, Math.ceil(length * 0.6)), course.batches - 1);
}

function killAt(course: Course, at: number): Kill {
  // Batch `at` is done: it belongs to the last epoch that began before it.
  const epoch = course.epochStarts.findLastIndex((start) => start < at);
  const before = at - (course.epochStarts[epoch] ?? 0);
  const after = endOf(course, epoch) - at;
  return { at, save: Math.max(1, at - Math.max(1, Math.floor(before / 2))), epoch, before, after };
}
