import { node } from "../../core/index.ts";
import { type EndingReason, type EndPosition, laterOf } from "../../trainer/index.ts";
import { putJson } from "../store/file-system.ts";
import type { ProcessIdentity } from "../store/lock.ts";
import { isMainThere, type Machine, partName, readJson, until } from "./ranked-store.ts";

/** Options of {@link RankMeeting}. */
interface MeetingOptions extends Machine {
  readonly root: string;
  readonly rank: number;
  readonly ranks: number;
  /** Seconds for which ranks wait for each other. */
  readonly patience: number;
  readonly warn: (text: string) => void;
}

/** Written by a rank that is to end. */
interface Announcement extends EndingReason {
  readonly place: EndPosition;
}

/** Written by rank 0 when all have announced their ends, or when it has given up. */
interface Decision {
  readonly until: EndPosition | null;
  readonly why: string;
}

// Rank 0 removes names that begin with .tmp- when it locks the store: nothing here is of an earlier run.
const announced = ".tmp-end-";
const decided = ".tmp-all-end";

/** Milliseconds between two looks at whether another rank is to end. */
const watching = 500;
/** Seconds after which a rank that waits warns of it. */
const sayAfter = 2;

/**
 * Ranks that share a directory end a run at the same place, so that they can save it together:
 *
 * ```
 * each rank   is to end (a signal, a stop, the last epoch): writes where it is, and waits there
 *             or reads that another was interrupted or stopped, and is to end too
 *             goes on by one repeat while a checkpoint waits for its part: others are further on
 * rank 0      has the places of all: writes the furthest
 * each rank   goes on to it, and ends
 * ```
 *
 * If a rank is gone or does not come within `patience`, the others end where they are, with a warning: then there is no
 * last checkpoint.
 */
export class RankMeeting {
  readonly #options: MeetingOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Why there is no place at which all end. */
  failure: string | undefined;

  constructor(options: MeetingOptions) {
    this.#options = options;
  }

  /** Looks from time to time whether another rank was interrupted or stopped. */
  watch(heard: (why: EndingReason) => void): void {
    let looking = false;
    const look = async (): Promise<void> => {
      for (const [rank, { outcome, reason, exitCode }] of await this.#announcements())
        if (rank !== this.#options.rank && (outcome === "interrupted" || outcome === "stopped"))
          heard({ outcome, reason: `rank ${rank}: ${reason}`, exitCode });
    };
    this.#timer = setInterval(() => {
      if (looking) return;
      looking = true;
      // A file that cannot be read now is looked at again.
      look()
        .catch(() => undefined)
        .finally(() => {
          looking = false;
        });
    }, watching);
    this.#timer.unref();
  }

  /** See `Agree`. */
  async agree(here: EndPosition, why: EndingReason): Promise<EndPosition | "goOn"> {
    const { root, rank, patience, fs, warn } = this.#options;
    clearInterval(this.#timer);
    const mine = node.path.join(root, `${announced}${partName(rank)}`);
    await putJson(fs, mine, `${mine}.draft`, { place: here, ...why } satisfies Announcement);
    const began = performance.now();
    let said = false;
    let found: Decision | "goOn" | undefined;
    const inTime = await until(patience, async () => {
      found = rank === 0 ? await this.#decision() : await this.#decisionOfMain();
      if (!found && (await this.#isBehind())) found = "goOn";
      if (!found && !said && performance.now() - began > sayAfter * 1000) {
        said = true;
        warn(
          `rank ${rank} is to end (${why.reason ?? why.outcome}) and waits for the others, at most ${patience} s`,
        );
      }
      return found !== undefined;
    }).catch(() => false);
    if (!inTime) {
      const there = (await this.#announcements()).map(([other]) => other);
      const late = this.#others().filter((other) => rank !== 0 || !there.includes(other));
      found = {
        until: null,
        why: `rank ${rank === 0 ? late.join(", ") : 0} did not end within ${patience} s`,
      };
    }
    if (found === "goOn") return found;
    const { until: place, why: reason } = found as Decision;
    const all = node.path.join(root, decided);
    if (rank === 0) await putJson(fs, all, `${all}.draft`, found as Decision);
    else await fs.remove(mine);
    if (place) return place;
    this.failure = reason;
    return here;
  }

  /** Rank 0 goes last: the others have read where to end. */
  async close(): Promise<void> {
    const { root, rank, fs } = this.#options;
    clearInterval(this.#timer);
    const mine = `${announced}${partName(rank)}`;
    if (rank === 0 && (await fs.list(root)).includes(decided))
      await until(this.failure === undefined ? this.#options.patience : 0, async () => {
        const unread = (await this.#announcements()).map(([other]) => other).filter((other) => other !== 0);
        return (await this.#gone(unread)).length === unread.length;
      }).catch(() => undefined);
    for (const name of rank === 0 ? [mine, decided] : [mine]) await fs.remove(node.path.join(root, name));
  }

  #others(): readonly number[] {
    return Array.from({ length: this.#options.ranks }, (_, r) => r).filter((r) => r !== this.#options.rank);
  }

  async #announcements(): Promise<readonly (readonly [number, Announcement])[]> {
    const { root, fs } = this.#options;
    const names = (await fs.list(root)).filter((name) => /^\.tmp-end-rank-\d+$/.test(name));
    const read = names.map(async (name) => {
      const rank = Number(name.slice(`${announced}rank-`.length));
      const said = await readJson<Announcement>(fs, node.path.join(root, name));
      return said && Array.isArray(said.place) ? ([[rank, said]] as const) : [];
    });
    return (await Promise.all(read)).flat();
  }

  /** Rank 0: the furthest place, once all have said theirs; or that one of them is gone. */
  async #decision(): Promise<Decision | undefined> {
    const said = await this.#announcements();
    if (said.length === this.#options.ranks)
      return { until: said.map(([, { place }]) => place).reduce(laterOf), why: "" };
    const silent = this.#others().filter((other) => !said.some(([rank]) => rank === other));
    const gone = await this.#gone(silent);
    return gone.length > 0 ? { until: null, why: `rank ${gone.join(", ")} is gone` } : undefined;
  }

  /** The other ranks: what rank 0 said. */
  async #decisionOfMain(): Promise<Decision | undefined> {
    const { root, fs } = this.#options;
    const there = await isMainThere(root, this.#options);
    const said = await readJson<Decision>(fs, node.path.join(root, decided));
    return said ?? (there ? undefined : { until: null, why: "rank 0 is gone" });
  }

  /** Those of some ranks that have no lock of a running process. */
  async #gone(ranks: readonly number[]): Promise<readonly number[]> {
    const { root, fs, processes } = this.#options;
    const names = await fs.list(root);
    const found = ranks.map(async (rank) => {
      const locks = names.filter((name) => name.startsWith(`.lock.${partName(rank)}-`));
      const claims = await Promise.all(
        locks.map((name) => readJson<ProcessIdentity>(fs, node.path.join(root, name))),
      );
      return claims.some((claim) => claim && processes.isRunning(claim) !== false) ? [] : [rank];
    });
    return (await Promise.all(found)).flat();
  }

  /** True if a checkpoint has a part of another rank, and none of this one. */
  async #isBehind(): Promise<boolean> {
    const { root, rank, fs } = this.#options;
    for (const name of (await fs.list(root)).filter((one) => one.startsWith(".tmp-parts-"))) {
      const parts = await fs.list(node.path.join(root, name));
      const isOwn = (part: string): boolean => part === partName(rank) || part === `.${partName(rank)}`;
      if (parts.some((part) => part.startsWith("rank-")) && !parts.some(isOwn)) return true;
    }
    return false;
  }
}
