/**
 * The runs of a cluster and who takes part in them, as values of the broker:
 *
 *     espalier-runs        RUN            RunDescription   what a worker needs to join: written by the trainer
 *     RUN=members          KIND.NAME      Member           a lease: gone when it is not renewed, by the server's clock
 */
import own from "../../package.json" with { type: "json" };
import { EspalierError, node } from "../core/index.ts";
import { type Broker, type BrokerValues, pause } from "./broker.ts";

/** A run as the trainer describes it to workers and evaluators. */
export interface RunDescription {
  readonly run: string;
  readonly state: "running" | "ended";
  /** Of Espalier: others are refused, because they may read messages otherwise. */
  readonly version: string;
  /** The module that makes workers: its path from the project's directory, or the name of a package. */
  readonly module?: string;
  /** Its export. */
  readonly name?: string;
  /** Given to that export. Plain values. */
  readonly options?: unknown;
}

/** What takes part in a run. */
export type MemberKind = "trainer" | "worker" | "evaluator" | "rank";

/** One that takes part in a run now. */
export interface Member {
  readonly kind: MemberKind;
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** What it does, in a few words, and numbers for people: rollouts, their rate, the id of its weights. */
  readonly doing: string;
  readonly numbers: Readonly<Record<string, number>>;
}

/** Seconds after which a member that says nothing is gone. It says that it is there three times as often. */
export const leaseSeconds = 9;

const allRuns = "espalier-runs";

/** The name of a run's queue or values: "rollouts", "weights", "members", ... No name of a run has an equals sign. */
export const partOf = (run: string, part: string): string => `${run}=${part}`;

/** Refuses names of runs, workers and evaluators that subjects of messages cannot hold. */
export function checkClusterName(what: string, name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/.test(name)) return;
  throw new EspalierError("CLUSTER_NAME", `"${name}" cannot be the name of a ${what}`, {
    fix: "use letters, digits, dashes and underscores, at most 80, not beginning with a dash",
  });
}

/** Writes the description of a run, for all who come to it. */
export async function describeRun(
  broker: Broker,
  description: Omit<RunDescription, "version">,
): Promise<void> {
  const runs = await broker.values(allRuns);
  await runs.put(description.run, encode({ ...description, version: own.version }));
}

/** The description of a run; undefined where there is none. */
export async function findRun(broker: Broker, run: string): Promise<RunDescription | undefined> {
  const found = await (await broker.values(allRuns)).get(run);
  return found && (decode(found.bytes) as RunDescription);
}

/** All runs that the server knows. */
export async function listRuns(broker: Broker): Promise<readonly RunDescription[]> {
  const runs = await broker.values(allRuns);
  const found = await Promise.all((await runs.keys()).map((key) => runs.get(key)));
  return found.flatMap((one) => (one ? [decode(one.bytes) as RunDescription] : []));
}

/** Removes all that the server keeps of a run. */
export async function forgetRun(broker: Broker, run: string): Promise<void> {
  await broker.remove(partOf(run, ""));
  await (await broker.values(allRuns)).delete(run);
}

/** Calls `changed` when the description of a run changes. Returns a function that ends it. */
export async function watchRun(
  broker: Broker,
  run: string,
  changed: (description: RunDescription) => void,
): Promise<() => void> {
  const runs = await broker.values(allRuns);
  return runs.watch((key, bytes) => {
    if (key === run) changed(decode(bytes) as RunDescription);
  });
}

/** A run's description for one who joins it: it has to be there, and of this version of Espalier. */
export async function joinRun(broker: Broker, run: string): Promise<RunDescription> {
  const found = await findRun(broker, run);
  if (!found) {
    const known = (await listRuns(broker)).map((one) => one.run);
    throw new EspalierError("CLUSTER_RUN_UNKNOWN", `${broker.address} knows no run "${run}"`, {
      fix: `start its trainer first, or name one of: ${known.join(", ") || "(there are none)"}`,
    });
  }
  if (found.version !== own.version)
    throw new EspalierError(
      "CLUSTER_VERSION",
      `run "${run}" is trained by Espalier ${found.version}, and this is ${own.version}`,
      { fix: `install the same version on both machines: npm install espalier@${found.version}` },
    );
  return found;
}

/** As {@link joinRun}, for one who may come before the trainer: waits some seconds for a run that goes on. */
export async function awaitRun(
  broker: Broker,
  run: string,
  { seconds, warn }: { readonly seconds: number; readonly warn: (text: string) => void },
): Promise<RunDescription> {
  const until = broker.timers.now() + seconds * 1000;
  for (let said = false; ; said = true) {
    const found = await findRun(broker, run);
    if (found?.state === "running" || broker.timers.now() >= until) return joinRun(broker, run);
    if (!said) warn(`run "${run}" has no trainer yet; waiting for it at most ${seconds} s`);
    await pause(broker.timers, 250);
  }
}

/** Those who take part in a run now. */
export async function listMembers(broker: Broker, run: string): Promise<readonly Member[]> {
  const members = await broker.values(partOf(run, "members"), { seconds: leaseSeconds });
  const found = await Promise.all((await members.keys()).map((key) => members.get(key)));
  return found
    .flatMap((one) => (one ? [decode(one.bytes) as Member] : []))
    .sort((a, b) => (`${a.kind}.${a.name}` < `${b.kind}.${b.name}` ? -1 : 1));
}

/** A run and who takes part in it now. */
export interface RunStatus extends Pick<RunDescription, "run" | "state" | "version"> {
  readonly members: readonly Member[];
}

/** Reads the runs that a server knows, or one of them. */
export async function readStatus(broker: Broker, asked?: string): Promise<readonly RunStatus[]> {
  const runs = await listRuns(broker);
  const wanted = runs.filter(({ run }) => asked === undefined || run === asked);
  if (asked !== undefined && wanted.length === 0) throw unknownRun(broker, asked, runs);
  const order = [...wanted].sort((a, b) => (a.run < b.run ? -1 : 1));
  return Promise.all(
    order.map(async ({ run, state, version }) => ({
      run,
      state,
      version,
      members: await listMembers(broker, run),
    })),
  );
}

const unknownRun = (broker: Broker, run: string, known: readonly RunDescription[]): EspalierError =>
  new EspalierError("CLUSTER_RUN_UNKNOWN", `${broker.address} knows no run "${run}"`, {
    fix: `name one of: ${known.map((one) => one.run).join(", ") || "(there are none)"}`,
  });

/** What a member says of itself besides its name. */
export type Doing = () => Pick<Member, "doing" | "numbers">;

/**
 * The lease of a member: it takes the name, which nobody else may have meanwhile, and renews it until it leaves. A server
 * that is away for a while, or restarted, is told again. One that did not reach the server for longer than its lease may
 * find that another has the name.
 */
export class Membership {
  readonly #broker: Broker;
  readonly #values: BrokerValues;
  readonly #key: string;
  readonly #doing: Doing;
  readonly #about: Pick<Member, "kind" | "name" | "host" | "pid">;
  /** Tells this member from others on the same machine. */
  readonly #mark = Math.random().toString(16).slice(2, 10).padEnd(8, "0");
  readonly #lost: (holder: Member) => void;
  #state: "member" | "lost" | "left" = "member";
  #revision = 0;
  #cancel: () => void = () => undefined;

  static async join(
    broker: Broker,
    run: string,
    { kind, name }: Pick<Member, "kind" | "name">,
    doing: Doing,
    lost: (holder: Member) => void = () => undefined,
  ): Promise<Membership> {
    checkClusterName(kind, name);
    const values = await broker.values(partOf(run, "members"), { seconds: leaseSeconds });
    const member = new Membership(broker, values, { kind, name, ...thisProcess() }, doing, lost);
    const holder = await member.#renew();
    if (holder)
      throw new EspalierError(
        "CLUSTER_NAME_TAKEN",
        `run "${run}" has a ${kind} "${name}" already: process ${holder.pid} on ${holder.host}`,
        {
          fix: `end that one, or give another name; if it was killed, its name is free after ${leaseSeconds} seconds`,
        },
      );
    member.#keep();
    return member;
  }

  private constructor(
    broker: Broker,
    values: BrokerValues,
    about: Membership["about"],
    doing: Doing,
    lost: (holder: Member) => void,
  ) {
    this.#broker = broker;
    this.#lost = lost;
    this.#values = values;
    this.#key = `${about.kind}.${about.name}`;
    this.#about = about;
    this.#doing = doing;
  }

  get about(): Pick<Member, "kind" | "name" | "host" | "pid"> {
    return this.#about;
  }

  /** Renews the lease over the one that is known. Gives the member that has it instead, if there is one. */
  async #renew(): Promise<Member | undefined> {
    for (;;) {
      const bytes = encode({ ...this.#about, ...this.#doing(), mark: this.#mark });
      const revision = await this.#values.put(this.#key, bytes, { revision: this.#revision });
      const found = revision === undefined ? await this.#values.get(this.#key) : undefined;
      const holder = found && (decode(found.bytes) as Member & { readonly mark: string });
      if (holder && holder.mark !== this.#mark) return holder;
      this.#revision = revision ?? found?.revision ?? 0;
      if (revision !== undefined) return undefined;
    }
  }

  /** Renews the lease now. False where another has the name: then this is no member any more. */
  async renew(): Promise<boolean> {
    const holder = this.#state === "member" ? await this.#renew() : undefined;
    if (holder && this.#state === "member") {
      this.#state = "lost";
      this.#lost(holder);
    }
    return this.#state === "member";
  }

  #keep(): void {
    this.#cancel = this.#broker.timers.after((leaseSeconds / 3) * 1000, () => {
      if (this.#state !== "member") return;
      // One without an answer is not waited for: the lease would be over before the next. The broker says by itself
      // that the server is away.
      this.renew().catch(() => undefined);
      this.#keep();
    });
  }

  /** Gives the name back. */
  async leave(): Promise<void> {
    const isMember = this.#state === "member";
    this.#state = "left";
    this.#cancel();
    if (isMember) await this.#values.delete(this.#key).catch(() => undefined);
  }
}

const thisProcess = (): Pick<Member, "host" | "pid"> => ({ host: node.os.hostname(), pid: process.pid });

export const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
export const decode = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));
