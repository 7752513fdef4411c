import { codeOf, EspalierError, node } from "../../core/index.ts";
import { type Processes, type ProcessIdentity, systemProcesses } from "./lock.ts";
import type { S3Entry, S3Objects } from "./s3-objects.ts";

// The right to write to a store on S3, which ends by itself when its process dies:
//
//   take     puts a claim of its own, .lock/TOKEN, then lists all claims:
//            another that is alive     takes its own back, and refuses
//            another that has run out  removes it
//            Of two that come at once at least one sees the other, because lists show everything that was put before.
//   renew    puts the claim again, every third of the lease. A claim runs out a lease after it was put, by the
//            server's clock: the time it was put and the time now are both the server's
//   late     a process that stood still for longer than its lease keeps its right if its claim is still there, which
//            every other writer removes, and if no other has come
//
// The server needs no conditional writes for it, only lists that are never behind.

/** The folder of claims. */
const folder = ".lock/";

/** Milliseconds by which the server's times are wrong at most: they are in whole seconds, from several machines. */
const slack = 2000;

interface LeaseClaim extends ProcessIdentity {
  readonly holder: string;
  /** Seconds for which it holds. */
  readonly lease: number;
  /** The system and its process numbers; null where they cannot be told from those of others. */
  readonly machine: string | null;
}

/** A claim that has been taken. */
export class S3Lease {
  readonly #objects: S3Objects;
  readonly #key = `${folder}${node.crypto.randomBytes(8).toString("hex")}`;
  readonly #claim: LeaseClaim;
  readonly #processes: Processes;
  #state: "held" | "lost" | "released" = "held";
  /** The server's time when the claim was last known to be good. */
  #renewed = 0;
  #renewing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(objects: S3Objects, holder: string, lease: number) {
    this.#objects = objects;
    this.#processes = systemProcesses();
    this.#claim = { ...this.#processes.self, holder, lease, machine: thisMachine() };
  }

  /** Takes the right to write, or refuses with the code STORE_LOCKED. */
  static async take(objects: S3Objects, holder: string, seconds: number): Promise<S3Lease> {
    const lease = new S3Lease(objects, holder, seconds);
    await lease.#put();
    try {
      await lease.#refuseOthers();
    } catch (error) {
      await objects.remove([lease.#key]).catch(() => undefined);
      throw error;
    }
    // A failure is met by whatever is written next.
    lease.#timer = setInterval(() => void lease.renew().catch(() => undefined), (seconds * 1000) / 3);
    lease.#timer.unref();
    return lease;
  }

  /** Fails where the right has been released or lost; renews it where that is due. */
  async check(): Promise<void> {
    this.#refuseEnded();
    if (this.#objects.now() - this.#renewed > (this.#claim.lease * 1000) / 2) await this.renew();
  }

  /** Renews the claim. Gives the server's time until which it holds, in seconds. */
  async renew(): Promise<number> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
    return Math.floor(this.#renewed / 1000) + this.#claim.lease;
  }

  /** Ends the right after something was written too late. */
  lose(): never {
    clearInterval(this.#timer);
    if (this.#state === "held") this.#state = "lost";
    this.#refuseEnded();
    throw new Error("a lock that is neither lost nor released");
  }

  async release(): Promise<void> {
    if (this.#state === "released") return;
    this.#state = "released";
    clearInterval(this.#timer);
    await this.#renewing?.catch(() => undefined);
    await this.#objects.remove([this.#key]);
  }

  #put(): Promise<void> {
    return this.#objects.put(this.#key, JSON.stringify(this.#claim));
  }

  async #renew(): Promise<void> {
    this.#refuseEnded();
    const claims = await this.#objects.list(folder);
    const looked = this.#objects.now();
    const own = claims.find(({ key }) => key === this.#key);
    if (!own) return this.lose();
    await this.#put();
    const span = this.#claim.lease * 1000;
    const late = looked - own.modified > span;
    // After a long while somebody may have come, removed the claim before it was put again, and gone.
    const tooLate = this.#objects.now() - looked > span / 2;
    if (tooLate || (late && !(await this.#isAlone()))) {
      await this.#objects.remove([this.#key]);
      return this.lose();
    }
    this.#renewed = looked;
  }

  async #isAlone(): Promise<boolean> {
    try {
      await this.#refuseOthers();
      return true;
    } catch (error) {
      if (codeOf(error) === "STORE_LOCKED") return false;
      throw error;
    }
  }

  /** Removes claims that have run out, and refuses for one that has not. */
  async #refuseOthers(): Promise<void> {
    const claims = await this.#objects.list(folder);
    const now = this.#objects.now();
    this.#renewed = claims.find(({ key }) => key === this.#key)?.modified ?? 0;
    for (const other of claims) {
      if (other.key === this.#key) continue;
      const claim = await this.#read(other);
      if (claim === "gone") continue;
      const age = now - other.modified;
      const left = claim.lease * 1000 + slack - age;
      if (left > 0 && !this.#hasEnded(claim)) throw this.#refusal(claim, age, left);
      await this.#objects.remove([other.key]);
    }
  }

  async #read({ key }: S3Entry): Promise<LeaseClaim | "gone"> {
    try {
      const found = JSON.parse(new TextDecoder().decode(await this.#objects.whole(key))) as LeaseClaim | null;
      if (typeof found?.lease === "number") return found;
    } catch (error) {
      if (codeOf(error) === "FILE_MISSING") return "gone";
      if (!(error instanceof SyntaxError)) throw error;
    }
    return { ...unknownClaim, lease: this.#claim.lease };
  }

  /** True for a process of this system that is known to have ended: its claim need not run out. */
  #hasEnded(claim: LeaseClaim): boolean {
    if (claim.machine === null || claim.machine !== this.#claim.machine) return false;
    return this.#processes.isRunning(claim) === false;
  }

  #refusal({ pid, host, holder, machine }: LeaseClaim, age: number, left: number): EspalierError {
    const { location } = this.#objects;
    const self = this.#processes.self;
    if (host === self.host && pid === self.pid && machine === this.#claim.machine)
      return new EspalierError("STORE_LOCKED", `${location} is in use by this process already (${holder})`, {
        fix: "close the other CheckpointManager first, or give each a prefix of its own",
      });
    const since = `it renewed its lock ${Math.max(0, Math.round(age / 1000))} s ago`;
    return new EspalierError(
      "STORE_LOCKED",
      `${location} is in use by process ${pid} on ${host} (${holder}); ${since}`,
      {
        fix: `stop it, or use another prefix; if it no longer runs, try again in ${Math.ceil(left / 1000)} s, when its lock has run out`,
      },
    );
  }

  #refuseEnded(): void {
    const { location } = this.#objects;
    if (this.#state === "released")
      throw new EspalierError("STORE_RELEASED", `the lock on ${location} has been released`);
    if (this.#state === "lost")
      throw new EspalierError(
        "STORE_LOCK_LOST",
        `the lock on ${location} has run out: this process stood still, or could not reach the server, for longer than ${this.#claim.lease} s, and another has taken its place`,
        { fix: "end this run, the other one has taken over; for long pauses raise `lease` of s3Store" },
      );
  }
}

const unknownClaim = { pid: 0, host: "an unknown machine", start: null, holder: "unknown", machine: null };

/** The boot of this system and the namespace of its process numbers: containers may share names and numbers. */
function thisMachine(): string | null {
  try {
    const boot = node.fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${node.fs.readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
