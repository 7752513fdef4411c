/**
 * A group of ranks, from its forming until it ends, fails or is broken. Everything that ranks do together is an exchange
 * (rank-exchange.ts): a message from each to each, after which all go on.
 *
 *     barrier      nothing
 *     broadcast    the main rank's value to all
 *     sum          each rank adds up one part of the array, in the order of ranks, and gives it to all: every rank sends
 *                  and receives twice the array at most, however many there are
 *
 * With each exchange goes whether a rank is to end, so that all learn of it at the same place.
 */
import { EspalierError, node } from "../core/index.ts";
import { type Device, type DType, type HostArray, put, type Shape, Tensor } from "../engine/index.ts";
import { firstDifference, hashState, type StateTree, walkState } from "../state/index.ts";
import {
  type EndingReason,
  latestCheckpoint,
  type RankGroup,
  stoppedIn,
  type TrainerContext,
  type TrainerHook,
} from "../trainer/index.ts";
import { type Broker, type BrokerValues, pause } from "./broker.ts";
import { decode, encode, partOf } from "./members.ts";
import { RankExchange, type Received } from "./rank-exchange.ts";

/** A process that is a rank, as others know it. */
export interface RankMember {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Told apart from an earlier process of the same name. */
  readonly session: string;
  /** Of Espalier. */
  readonly version: string;
}

/** The ranks of a run, seen from one of them. */
export interface Ranks extends RankGroup {
  /** By rank. */
  readonly members: readonly RankMember[];
  /** Resolves when all ranks have come to it. */
  barrier(name: string): Promise<void>;
  /** The mean of the arrays of all ranks. */
  average<A extends Float32Array | Float64Array>(name: string, own: A): Promise<A>;
}

/** A group as the broker has it. */
export interface GroupRecord {
  /** Counts the groups of the run. */
  readonly generation: number;
  readonly state: "running" | "broken" | "failed" | "ended";
  readonly members: readonly RankMember[];
  /** Why it is broken or has failed. */
  readonly reason?: string;
  /** Sessions of those who were lost. */
  readonly lost?: readonly string[];
  /** Updates of the newest checkpoint. */
  readonly saved: number;
}

/** The parts that a process has for all its groups. */
export interface Parts {
  readonly broker: Broker;
  readonly run: string;
  readonly limits: { readonly min: number; readonly max: number };
  /** Seconds. */
  readonly patience: number;
  readonly grace: number;
  readonly gather: number;
  readonly warn: (text: string) => void;
  readonly self: RankMember;
  /** Leases, and what groups keep. */
  readonly members: BrokerValues;
  readonly values: BrokerValues;
}

/** What the server answers; undefined while it is away. A full disk is an error. */
export async function answered<R>(request: () => Promise<R>): Promise<R | undefined> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof EspalierError && error.code === "CLUSTER_NO_ANSWER") return undefined;
    throw error;
  }
}

type Numbers = Float32Array | Float64Array;
const nothing = new Uint8Array(0);
/** The name of the last exchange. */
const ended = "end";
/** Milliseconds after which a group that waits for nobody looks whether others have taken its place. */
const lookAfter = 5000;
/** Seconds in which a rank that fails tells the others. Where that fails too, they find that it is gone. */
const tellWithin = 10;

export class Group implements Ranks {
  readonly rank: number;
  readonly ranks: number;
  readonly members: readonly RankMember[];
  readonly generation: number;
  readonly hooks: readonly TrainerHook[];
  /** Of the trainer, for people. */
  updates = 0;
  /** Why all ranks end, once all know. */
  ending: EndingReason | undefined;
  /** The trainer's, from its start on. */
  asked: () => EndingReason | undefined = () => undefined;
  heard: (why: EndingReason) => void = () => undefined;
  readonly #parts: Parts;
  readonly #exchanges: RankExchange<EndingReason>;
  /** When a rank's lease was first seen to be gone. */
  readonly #gone = new Map<number, number>();
  #state: "running" | "over" | EspalierError = "running";
  #looking: Promise<void> | undefined;
  #looked: number;

  constructor(parts: Parts, record: GroupRecord) {
    this.#parts = parts;
    this.#looked = parts.broker.timers.now();
    this.members = record.members;
    this.generation = record.generation;
    this.ranks = record.members.length;
    this.rank = record.members.findIndex(({ session }) => session === parts.self.session);
    this.#exchanges = new RankExchange({
      broker: parts.broker,
      subject: `${partOf(parts.run, "ranks")}.${record.generation}`,
      rank: this.rank,
      ranks: this.ranks,
      look: (missing, seconds, name) => {
        this.#looking ??= this.#look(missing, seconds, name).finally(() => {
          this.#looking = undefined;
        });
        return this.#looking;
      },
    });
    this.hooks = rankHooks(this, record.saved, parts.warn);
  }

  /** Calls `train`, and waits until all have done so. Gives its result, or the error by which a rank was lost. */
  async during<T>(
    train: (ranks: Ranks) => Promise<T>,
  ): Promise<{ readonly result: T } | { readonly lost: EspalierError }> {
    try {
      const result = await train(this);
      if (this.#state === "running") await this.#end();
      return this.#state instanceof EspalierError ? { lost: this.#state } : { result };
    } catch (error) {
      if (this.#state instanceof EspalierError) return { lost: this.#state };
      const cause = rankError(error) ?? error;
      const [what] = String(cause instanceof Error ? cause.message : cause).split("\n");
      const reason = `${this.#named(this.rank)} has failed: ${what}`;
      await this.#change({ state: "failed", reason }, tellWithin);
      throw cause;
    } finally {
      this.#exchanges.close();
    }
  }

  /**
   * The main rank has done everything when its `train` has returned: it says that the group has ended, once all have
   * come. The others wait for that, and leave nobody before.
   */
  async #end(): Promise<void> {
    const { timers } = this.#parts.broker;
    if (this.rank === 0) {
      await this.barrier(ended).catch((error: unknown) => {
        if ((error as EspalierError).code !== "RANK_LOST") throw error;
      });
      await this.#change({ state: "ended" });
      this.#state = "over";
    } else
      try {
        await this.barrier(ended);
        for (;;) {
          await this.#look(() => [0], 0, ended);
          await pause(timers, 50);
        }
      } catch (error) {
        if (this.#state !== "over") throw error;
      }
  }

  async barrier(name: string): Promise<void> {
    await this.#exchange(name, () => nothing);
  }

  async broadcast<T>(name: string, value: T | undefined): Promise<T> {
    if (this.ranks === 1) return value as T;
    const bytes = this.rank === 0 ? node.v8.serialize(value) : nothing;
    const [main] = await this.#exchange(name, () => bytes);
    return main ? (node.v8.deserialize(main.bytes) as T) : (value as T);
  }

  async sum<A extends Numbers>(name: string, own: A): Promise<A> {
    const { rank, ranks } = this;
    const start = (of: number): number => Math.floor((own.length * of) / ranks);
    const part = (of: number): A => own.subarray(start(of), start(of + 1)) as A;
    const parts = await this.#exchange(`${name}: parts`, (to) => bytesOf(part(to)));
    const sum = numbersLike(own, start(rank + 1) - start(rank));
    for (let from = 0; from < ranks; from++) {
      const one = from === rank ? part(rank) : numbersIn(own, parts[from] as Received<unknown>);
      if (one.length !== sum.length) throw otherLength(name, rank, from);
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (one[i] as number);
    }
    const sums = await this.#exchange(`${name}: sums`, () => bytesOf(sum));
    const all = numbersLike(own, own.length);
    for (let of = 0; of < ranks; of++)
      all.set(of === rank ? sum : numbersIn(own, sums[of] as Received<unknown>), start(of));
    return all;
  }

  async average<A extends Numbers>(name: string, own: A): Promise<A> {
    const sum = await this.sum(name, own);
    return sum.map((number) => number / this.ranks) as A;
  }

  /** Texts of all ranks, by rank. */
  async gather(name: string, text: string): Promise<readonly string[]> {
    const all = await this.#exchange(name, () => new TextEncoder().encode(text));
    return all.map((one, from) => (from === this.rank || !one ? text : new TextDecoder().decode(one.bytes)));
  }

  async #exchange(
    name: string,
    bytesFor: (to: number) => Uint8Array,
  ): Promise<readonly (Received<EndingReason> | undefined)[]> {
    if (this.#state instanceof EspalierError) throw this.#state;
    const asked = this.asked();
    const all = await this.#exchanges.exchange(name, bytesFor, asked);
    if (this.#parts.broker.timers.now() - this.#looked > lookAfter) await this.#look(() => [], 0, name);
    const notes = all.map((one, from) => (from === this.rank ? asked : one?.note));
    const from = notes.findIndex((note) => note !== undefined);
    const why = notes[from];
    if (why && !this.ending) {
      this.ending = why;
      if (from !== this.rank) this.heard({ ...why, reason: `rank ${from}: ${why.reason ?? why.outcome}` });
    }
    return all;
  }

  /** Notes the updates of the newest checkpoint, which a group after this one must find. */
  async noteSaved(saved: number): Promise<void> {
    await this.#change({ saved });
  }

  #named(rank: number): string {
    const { host = "", pid = 0 } = this.members[rank] ?? {};
    return `rank ${rank} (process ${pid} on ${host})`;
  }

  async #record(): Promise<(GroupRecord & { readonly revision: number }) | undefined | null> {
    const stored = await answered(async () => (await this.#parts.values.get("group")) ?? null);
    return stored && { ...(decode(stored.bytes) as GroupRecord), revision: stored.revision };
  }

  /** Changes the record of this group while it is running. Gives the record that counts; undefined if nobody answers. */
  async #change(by: Partial<GroupRecord>, within = this.#parts.patience): Promise<GroupRecord | undefined> {
    const { broker, values } = this.#parts;
    const began = broker.timers.now();
    for (; broker.timers.now() - began <= within * 1000; await pause(broker.timers, 100)) {
      const found = await this.#record();
      if (found === null) return undefined;
      if (!found) continue;
      const { revision, ...record } = found;
      if (record.generation !== this.generation || record.state !== "running") return record;
      const next: GroupRecord = { ...record, ...by };
      if (await answered(() => values.put("group", encode(next), { revision }))) return next;
    }
    return undefined;
  }

  /** Looks whether the ranks that an exchange waits for are still there, and rejects where the group is over. */
  async #look(missing: () => readonly number[], seconds: number, name: string): Promise<void> {
    const { members, broker, grace, patience } = this.#parts;
    const record = await this.#record();
    const leases = await answered(() => members.keys());
    // Nobody is lost because the server is away.
    if (record === undefined || !leases) return this.#gone.clear();
    if (record?.generation !== this.generation || record.state !== "running") throw this.#over(record, name);
    const now = broker.timers.now();
    this.#looked = now;
    for (let rank = 0; rank < this.ranks; rank++) {
      if (leases.includes(`rank.${this.members[rank]?.name}`)) this.#gone.delete(rank);
      else if (!this.#gone.has(rank)) this.#gone.set(rank, now);
    }
    const isDead = (rank: number): boolean =>
      now - (this.#gone.get(rank) ?? Number.POSITIVE_INFINITY) >= grace * 1000;
    const dead = missing().filter(isDead);
    const late = name !== ended && seconds >= patience;
    const lost = dead.length > 0 ? dead : late ? missing() : [];
    if (lost.length === 0) return;
    const names = lost.map((rank) => this.#named(rank)).join(", ");
    const reason =
      dead.length > 0
        ? `${names} is gone: its lease has ended`
        : `${names} did not come to "${name}" within ${patience} s`;
    // The main rank has all that counts by then.
    if (name === ended && this.rank === 0) throw rankLost(reason);
    const sessions = lost.flatMap((rank) => this.members[rank]?.session ?? []);
    throw this.#over((await this.#change({ state: "broken", reason, lost: sessions })) ?? null, name);
  }

  /** The error of a group that is over. */
  #over(record: GroupRecord | null, name: string): EspalierError {
    const isOwn = record?.generation === this.generation;
    if (isOwn && record.state === "failed")
      return new EspalierError("RANK_FAILED", record.reason ?? "a rank has failed", {
        fix: "see what that process says; all ranks have ended",
      });
    if (isOwn && record.state === "ended" && name === ended) this.#state = "over";
    const reason =
      (isOwn ? record.reason : undefined) ??
      `${this.#named(this.rank)}, this one, was taken for lost by the others`;
    const error = rankLost(reason);
    if (this.#state === "running") this.#state = error;
    return error;
  }
}

/** The error of ranks that a failed hook was caused by. */
function rankError(error: unknown): EspalierError | undefined {
  if (!(error instanceof EspalierError)) return undefined;
  return error.code.startsWith("RANK") ? error : rankError(error.cause);
}

const rankLost = (reason: string): EspalierError =>
  new EspalierError("RANK_LOST", reason, {
    fix: "start that process again; with ranks: { min, max } a run goes on with fewer ranks",
  });

const otherLength = (name: string, rank: number, from: number): EspalierError =>
  new EspalierError(
    "RANKS_DIVERGED",
    `"${name}": the arrays of rank ${rank} and rank ${from} differ in length`,
    {
      fix: "sum arrays of the same length on all ranks",
    },
  );

const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
const numbersLike = <A extends Numbers>(like: A, length: number): A =>
  new (like.constructor as new (length: number) => A)(length);
/** Received bytes begin where their memory does. */
const numbersIn = <A extends Numbers>(like: A, { bytes }: Received<unknown>): A =>
  new (like.constructor as new (buffer: ArrayBufferLike) => A)(bytes.buffer);

/** Hooks by which the ranks' trainers begin with one state, compare their parameters, and end at one place. */
function rankHooks(group: Group, saved: number, warn: (text: string) => void): readonly TrainerHook[] {
  let noted = saved;
  let warned = false;
  const first: TrainerHook = {
    name: "ranks.start",
    ranks: "all",
    // After a checkpoint hook has restored the run, and before all others.
    priority: Number.MAX_VALUE,
    onTrainingStart: async (context) => {
      if (context.rank === 0 && context.counters.updates < saved) throw checkpointMissing(context, saved);
      await sameSettings(group, context);
      if (group.ranks > 1) await takeStates(group, context, Object.keys(context.components));
      group.asked = () => context.endAsked;
      group.heard = context.endTogether(async (here, { outcome }) => {
        // Where all complete by the same counts, nobody has to be told.
        const isCommon =
          outcome === "completed" && !(context.state.counters.seconds >= context.config.maxSeconds);
        return group.ending || isCommon ? here : "goOn";
      });
    },
  };
  const last: TrainerHook = {
    name: "ranks.end",
    ranks: "all",
    // After all others, one of which may have stopped the run.
    priority: Number.NEGATIVE_INFINITY,
    onTrainingStart: async ({ components }) => {
      const stopped = stoppedIn((await components.trainer?.getState()) ?? null);
      await group.barrier("start");
      // A run that had been stopped does nothing, on all ranks.
      if (stopped !== undefined)
        group.ending ??= { outcome: "stopped", reason: stopped, exitCode: undefined };
    },
    onBatchesEnd: ({ counters, slots, rank, inBackground }) => {
      group.updates = counters.updates;
      const newest = slots.previous(latestCheckpoint)?.counters.updates ?? 0;
      if (rank > 0 || newest <= noted) return;
      noted = newest;
      inBackground(group.noteSaved(newest));
    },
    onEpochEnd: async (context) => {
      const { learned } = context.interventions;
      const states = (await context.snapshot(learned)).components;
      const hashes = await group.gather("epoch", group.ranks > 1 ? await hashState(states) : "");
      const others = hashes.flatMap((hash, rank) => (hash === hashes[0] ? [] : [rank]));
      if (others.length === 0) return;
      if (context.rank === 0 && !warned)
        warn(
          `rank ${others.join(", ")} has other parameters than rank 0 after ${context.counters.updates} updates, and takes ` +
            "over those of rank 0 at the end of each epoch: machines of other kinds round differently",
        );
      warned = true;
      await takeStates(group, context, learned);
    },
  };
  return [first, last];
}

const checkpointMissing = ({ counters, config }: TrainerContext, saved: number): EspalierError =>
  new EspalierError(
    "RANKS_CHECKPOINT",
    `run "${config.name}" has a checkpoint of update ${saved}, and the main rank, on ${node.os.hostname()} now, begins at ` +
      `update ${counters.updates}: it does not find it`,
    {
      fix: "keep checkpoints where all ranks reach them: s3Store, or a directory that they share; to begin anew, give the run another name",
    },
  );

/** Refuses ranks whose programs differ. */
async function sameSettings(group: Group, { settings, components }: TrainerContext): Promise<void> {
  const names = Object.keys(components).filter((name) => !name.startsWith("hook."));
  const own: StateTree = { settings: settings as StateTree, components: names };
  const found = await firstDifference(await group.broadcast("settings", own), own);
  if (!found) return;
  throw new EspalierError("RANKS_DIFFER", `rank 0 and rank ${group.rank} do not train alike: ${found.text}`, {
    fix: "run the same program with the same options on all ranks",
  });
}

/** Gives components the main rank's states. Those of hooks that only the main rank has are left out. */
async function takeStates(
  group: Group,
  { components }: TrainerContext,
  names: readonly string[],
): Promise<void> {
  const states: Record<string, StateTree> = {};
  for (const name of names) states[name] = (await components[name]?.getState()) ?? null;
  const sent = group.rank === 0 ? await withArrays(states) : undefined;
  const main = (await group.broadcast("states", sent)) as Readonly<Record<string, unknown>>;
  if (group.rank === 0) return;
  const device = deviceOf(states);
  for (const name of names)
    if (name in main) await components[name]?.setState(withTensors(main[name], device));
}

/** A state with numbers in place of tensors. Maps, which no state has, stand for those. */
async function withArrays(state: StateTree): Promise<unknown> {
  if (state instanceof Tensor)
    return new Map<string, unknown>([
      ["data", await state.read()],
      ["dtype", state.dtype],
      ["shape", state.shape],
    ]);
  if (ArrayBuffer.isView(state) || typeof state !== "object" || state === null) return state;
  if (Array.isArray(state)) return Promise.all(state.map(withArrays));
  const entries = Object.entries(state as Readonly<Record<string, StateTree>>);
  return Object.fromEntries(
    await Promise.all(entries.map(async ([key, part]) => [key, await withArrays(part)])),
  );
}

function withTensors(sent: unknown, device: Device | undefined): StateTree {
  if (sent instanceof Map)
    return put(sent.get("data") as HostArray, {
      dtype: sent.get("dtype") as DType,
      shape: sent.get("shape") as Shape,
      ...(device && { device }),
    });
  if (ArrayBuffer.isView(sent) || typeof sent !== "object" || sent === null) return sent as StateTree;
  if (Array.isArray(sent)) return sent.map((part) => withTensors(part, device));
  return Object.fromEntries(Object.entries(sent).map(([key, part]) => [key, withTensors(part, device)]));
}

/** The device of the first tensor of a state. */
function deviceOf(states: StateTree): Device | undefined {
  let found: Device | undefined;
  walkState(states, (_, node) => {
    if (node.kind === "tensor") found ??= node.value.device;
  });
  return found;
}
