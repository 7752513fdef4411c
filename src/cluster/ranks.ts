/**
 * Data-parallel ranks on several machines: processes that run one program and train one model together.
 *
 *     trainOnRanks({ run, ranks }, train)             on every machine
 *       form     all who wait for the run, in an order that all agree on: rank 0 is the main one
 *                  values RUN=ranks   wait.NAME       who waits
 *                                     group           the group: its members, how it goes; changed by comparing revisions
 *       train(ranks)
 *         start      the main rank's states are sent to all: it alone restores and saves
 *         update     each rank has a part of the rows; gradients are summed in the order of ranks
 *         epoch      parameters are compared; that a rank was interrupted or stopped is known to all at the same update
 *       a rank is lost (its lease ended, or it does not come): the group is broken, all others get RANK_LOST
 *         ranks: { min, max }   form again with those who are there; `train` resumes from the last checkpoint
 *       train has returned on all: the group has ended
 *
 * rank-group.ts is one such group, rank-exchange.ts has its messages.
 */
import own from "../../package.json" with { type: "json" };
import {
  badOption,
  EspalierError,
  node,
  type Options,
  option,
  printableText,
  resolveOptions,
  toStandardError,
} from "../core/index.ts";
import { type Broker, type BrokerValues, pause } from "./broker.ts";
import { checkClusterName, type Doing, decode, encode, leaseSeconds, Membership, partOf } from "./members.ts";
import { natsBroker, natsRows } from "./nats.ts";
import { answered, Group, type GroupRecord, type Parts, type RankMember, type Ranks } from "./rank-group.ts";
import { connectionOf } from "./transport.ts";

const seconds = (of: number, doc: string) => option.number({ min: 0, default: of, doc });
const optionTable = {
  ...natsRows,
  /** The run's name, the same on all ranks. */
  run: option.text({ required: true, doc: "The run's name, the same on all ranks." }),
  /** The number of ranks; or the fewest and the most, for a run that goes on when some are lost. */
  ranks: option.made<
    number | { readonly min: number; readonly max: number },
    { readonly required: true; readonly doc: string }
  >(
    "a number of ranks from 1 on, or { min: 1, max: 4 }",
    (value) => {
      const { min, max } = typeof value === "number" ? { min: value, max: value } : limitsOf(value);
      return Number.isSafeInteger(min) && Number.isSafeInteger(max) && min >= 1 && min <= max;
    },
    { required: true, doc: "The number of ranks, or the fewest and the most." },
  ),
  /** Instead of a connection of its own. It is not closed. */
  broker: option.made<Broker>(
    "a broker",
    (value) => typeof (value as Broker | null)?.announce === "function",
    {},
  ),
  /** The name of this process among the run's. Default: the machine's, the process, and a number. */
  name: option.text({ doc: "The name of this process among the run's." }),
  /** Seconds for which ranks wait for each other, at the beginning and at each exchange. Default: 600. */
  patience: seconds(600, "Seconds for which ranks wait for each other."),
  /** Seconds for which a rank's lease may be gone before it is lost: longer than a program takes to compile. Default: 30. */
  grace: seconds(30, "Seconds for which a rank's lease may be gone before it is lost."),
  /** With the fewest and the most: seconds to wait for more, once the fewest are there. Default: 10. */
  gather: seconds(10, "Seconds to wait for more ranks, once the fewest are there."),
};

/** Options of {@link trainOnRanks}: those of a connection, and of the group. */
export interface RanksOptions extends Options<typeof optionTable> {}

const limitsOf = (value: unknown): { readonly min: number; readonly max: number } =>
  (typeof value === "object" && value !== null ? value : {}) as {
    readonly min: number;
    readonly max: number;
  };

/**
 * Trains one model in several processes, on one machine or many: each runs the same program, and `train` is called when
 * all are there. Every rank computes the gradients of its part of each batch; the sums are the same on all, and so are
 * the parameters. Hooks and checkpoints are the main rank's, unless a hook says `ranks: "all"`. With `ranks: { min, max }`
 * the run goes on when a rank is lost: `train` is called again with those that are left, and resumes from the last
 * checkpoint.
 *
 * @example
 * ```ts
 * // The same on every machine: NATS_URL=nats://main:4222 node train.ts
 * await trainOnRanks({ run: "digits", ranks: { min: 1, max: 4 } }, async (ranks) => {
 *   const trainer = supervisedTrainer({ model, trainingConfig, checkpointDir: "runs/digits", ranks });
 *   await trainer.train({ trainData });
 * });
 * ```
 */
export async function trainOnRanks<T>(
  options: RanksOptions,
  train: (ranks: Ranks) => Promise<T>,
): Promise<T> {
  const settings = resolveOptions("trainOnRanks", options, optionTable);
  const { run, ranks, warn = toStandardError } = settings;
  checkClusterName("run", run);
  if (typeof train !== "function")
    throw badOption(
      "trainOnRanks",
      "it is not said what to train",
      "give a function: async (ranks) => { ... }",
    );
  const limits = typeof ranks === "number" ? { min: ranks, max: ranks } : ranks;
  const broker = settings.broker ?? (await natsBroker(connectionOf(options)));
  let group: Group | undefined;
  const doing: Doing = () => ({
    doing: group ? `rank ${group.rank} of ${group.ranks}` : "waiting for other ranks",
    numbers: group ? { rank: group.rank, updates: group.updates } : {},
  });
  let joined: Joined | undefined;
  try {
    joined = await join(broker, settings, doing);
    const parts: Parts = {
      ...settings,
      ...joined,
      broker,
      limits,
      warn: (text) => warn(printableText(text)),
    };
    for (let left = 0; ; ) {
      const formed = new Group(parts, await form(parts, left));
      group = formed;
      const ended = await formed.during(train);
      group = undefined;
      left = formed.generation;
      if ("result" in ended) return ended.result;
      if (typeof ranks === "number") throw ended.lost;
      parts.warn(`${withoutFix(ended.lost)}; the ranks that are left go on from the last checkpoint`);
    }
  } finally {
    await joined?.member.leave();
    if (!settings.broker) await broker.close();
  }
}

const withoutFix = (error: EspalierError): string =>
  error.message.split(` [${error.code}]`)[0] ?? error.message;

/** What one has who has joined a run. */
interface Joined extends Pick<Parts, "self" | "members" | "values"> {
  readonly member: Membership;
}

/** Joins a run, and tries again while the server does not answer. */
async function join(
  broker: Broker,
  { run, name: given, patience }: Pick<Parts, "run" | "patience"> & { readonly name: string | undefined },
  doing: Doing,
): Promise<Joined> {
  const session = node.crypto.randomBytes(6).toString("hex");
  const host = node.os
    .hostname()
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .slice(0, 40);
  const name = given ?? `${host}-${session}`;
  const began = broker.timers.now();
  for (let unanswered = false; ; await pause(broker.timers, 500))
    try {
      const members = await broker.values(partOf(run, "members"), { seconds: leaseSeconds });
      const values = await broker.values(partOf(run, "ranks"));
      const member = await Membership.join(broker, run, { kind: "rank", name }, doing);
      const { host, pid } = member.about;
      return { member, members, values, self: { name, host, pid, session, version: own.version } };
    } catch (error) {
      const { code } = error as EspalierError;
      // One that was not answered may have taken the name.
      const again = code === "CLUSTER_NO_ANSWER" || (unanswered && code === "CLUSTER_NAME_TAKEN");
      if (!again || broker.timers.now() - began >= patience * 1000) throw error;
      unanswered = true;
    }
}

/** Milliseconds between two looks at who is there: at first, and after some seconds. */
const lookEvery = [50, 500] as const;
/** Seconds after which a process that waits says so. */
const sayAfter = 5;

/** Written by one who waits: for the group after that of this generation. */
interface Waiting extends RankMember {
  readonly after: number;
}

/**
 * Waits until there is a group with this process in it, after that of generation `left`. The first of those who wait
 * makes it: when the one before is over, and there are as many as can be, or enough and nobody has come for a while.
 */
async function form(parts: Parts, left: number): Promise<GroupRecord> {
  const { broker, values, members, limits, self, run } = parts;
  const { timers } = broker;
  const elapsed = (since: number): number => (timers.now() - since) / 1000;
  const began = timers.now();
  let [changed, occupied, known, said] = [began, began, "", false];
  const wait = (): number => Math.min(lookEvery[1], Math.max(lookEvery[0], 100 * elapsed(began)));
  for (; ; await pause(timers, wait())) {
    const stored = await answered(async () => (await values.get("group")) ?? null);
    const record = stored && (decode(stored.bytes) as GroupRecord);
    if (record && record.generation > left && isIn(record.members, self)) return record;
    const after = record?.generation ?? 0;
    await answered(() => values.put(`wait.${self.name}`, encode({ ...self, after } satisfies Waiting)));
    const there = await answered(async () => new Set(await members.keys()));
    const all = await answered(() => waitingIn(values));
    if (stored === undefined || !there || !all) {
      // Nobody is gone because the server is away.
      occupied = timers.now();
      continue;
    }
    const isThere = ({ name }: RankMember): boolean => there.has(`rank.${name}`);
    // Ranks keep their order, so that the main one stays it; those who are new come after them, by name.
    const order = (record?.members ?? []).map(({ session }) => session);
    const before = ({ session }: RankMember): number =>
      order.includes(session) ? order.indexOf(session) : order.length;
    const waiting = all
      .filter((one) => one.after === after && isThere(one))
      .sort((a, b) => before(a) - before(b) || (a.name < b.name ? -1 : 1));
    const [first = self] = waiting;
    if (first.version !== self.version) throw otherVersion(run, first);
    const names = waiting.map(({ session }) => session).join();
    if (names !== known) changed = timers.now();
    known = names;
    // Those of the group before who have not left it yet. Where it is not broken, their leases may come back.
    const still = (record?.members ?? []).filter(
      (one) => isThere(one) && !isIn(waiting, one) && !record?.lost?.includes(one.session),
    );
    if (still.length > 0) occupied = timers.now();
    const settled = record?.state === "running" ? parts.grace : 0;
    const free = record?.members.every((one) => isIn(waiting, one)) || elapsed(occupied) >= settled;
    const late = elapsed(began) >= parts.patience;
    const enough =
      waiting.length >= limits.max || (waiting.length >= limits.min && elapsed(changed) >= parts.gather);
    if (
      enough &&
      first.session === self.session &&
      (still.length === 0 ? free : late && record?.state !== "running")
    ) {
      const chosen = waiting.slice(0, limits.max).map(({ after: _, ...one }) => one);
      const goesOn = record?.state === "broken" || record?.members.some((one) => isIn(chosen, one));
      const saved = goesOn ? (record?.saved ?? 0) : 0;
      const next: GroupRecord = { generation: after + 1, state: "running", members: chosen, saved };
      await answered(() => values.put("group", encode(next), { revision: stored?.revision ?? 0 }));
    } else if (late) throw tooFew(parts, waiting, still);
    else if (!said && elapsed(began) >= sayAfter) {
      said = true;
      parts.warn(`${thoseThere(parts, waiting, still)}; waiting at most ${parts.patience} s`);
    }
  }
}

const isIn = (members: readonly RankMember[], one: RankMember): boolean =>
  members.some(({ session }) => session === one.session);

async function waitingIn(values: BrokerValues): Promise<readonly Waiting[]> {
  const keys = (await values.keys()).filter((key) => key.startsWith("wait."));
  const found = await Promise.all(keys.map((key) => values.get(key)));
  return found.flatMap((one) => (one ? [decode(one.bytes) as Waiting] : []));
}

function thoseThere(
  { run, limits }: Parts,
  waiting: readonly RankMember[],
  still: readonly RankMember[],
): string {
  const places = (of: readonly RankMember[]): string =>
    of.map(({ host, pid }) => `${host} (process ${pid})`).join(", ");
  const others =
    still.length > 0 ? `; ${places(still)} train it, and others can join when one of them is lost` : "";
  return `run "${run}" needs ${limits.min} ranks, and ${waiting.length} wait for it: ${places(waiting)}${others}`;
}

const tooFew = (parts: Parts, waiting: readonly RankMember[], still: readonly RankMember[]): EspalierError =>
  new EspalierError("RANKS_MISSING", `after ${parts.patience} s ${thoseThere(parts, waiting, still)}`, {
    fix: "start the others with the same run and servers, or give ranks a smaller number",
  });

const otherVersion = (run: string, first: RankMember): EspalierError =>
  new EspalierError(
    "CLUSTER_VERSION",
    `run "${run}" is trained by Espalier ${first.version} on ${first.host}, and this is ${own.version}`,
    { fix: `install the same version on all machines: npm install espalier@${first.version}` },
  );
