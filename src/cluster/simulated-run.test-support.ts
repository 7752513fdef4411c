/**
 * A run with many workers on a simulated server (simulation.test-support.ts): the real ends of the transport, a trainer
 * that acts like rolloutTask, workers that make rollouts after some time, and faults. All of it follows from a seed.
 *
 *     faults    partitions, slow links, crashes of workers, trainer and server, a full disk, messages lost, doubled, late
 *     after it  the trainer has to do two more epochs in bounded time
 *     the end   the newest weights reach every worker, and some that come late; they leave; the trainer takes all that is left
 *
 * What is checked:
 *
 *     a rollout is taken at most once by one process of the trainer, and with the bytes that were sent
 *     it is learned from at most once, across restarts from checkpoints
 *     one whose sending was acknowledged is taken: none is lost
 *     rollouts of one worker are taken in their order, those aside that the server stored or delivered again
 *     the queue is never longer than its capacity, at the server and at the trainer, and is empty at the end
 *     weights are those of one version, never older than those before, or than those that were there as the worker
     started; at the end the newest, at every worker
 *          no process fails, but for one that cannot join the run as it starts
 */
import { EspalierError } from "../core/index.ts";
import { RolloutReplay } from "../rollout/replay.ts";
import type { NamedArrays, Rollout, Weights } from "../rollout/rollout.ts";
import type { StateTree } from "../state/index.ts";
import {
  type Faults,
  type LinkOptions,
  noFaults,
  type Random,
  type ServerCounts,
  type SimulatedBroker,
  SimulatedServer,
  Simulation,
} from "./simulation.test-support.ts";
import { ClusterLink, ClusterTransport } from "./transport.ts";

export interface SimulatedRunOptions {
  readonly seed: number;
  readonly workers: number;
  /** Which faults happen. Default: those that the seed draws; every tenth seed has none. */
  readonly faults?: readonly FaultKind[];
  /** Takes the log, line by line. */
  readonly log?: (line: string) => void;
}

/** What came of a run. */
export interface SimulatedRunResult {
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  /** Of all events. */
  readonly hash: string;
  readonly events: number;
  readonly seconds: number;
  /** Rollouts whose sending was acknowledged, and those that a trainer took. */
  readonly acknowledged: number;
  readonly taken: number;
  /** Those that came again to a trainer. */
  readonly duplicates: number;
  readonly epochs: number;
  /** Processes that were killed, and those that could not join the run as they started. */
  readonly killed: number;
  readonly unconnected: number;
  /** Seconds from the end of the faults until the trainer has done two epochs. */
  readonly recovery: number;
  readonly server: Readonly<ServerCounts>;
}

const faultKinds = [
  "partitions",
  "slow links",
  "workers",
  "trainer",
  "two trainers",
  "server",
  "disk",
  "losses",
  "doubles",
  "stragglers",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** What a seed decides beforehand. Bytes are a hundredth of those of a real run, and so are all speeds. */
interface Plan {
  readonly kinds: readonly FaultKind[];
  readonly capacity: number;
  /** Milliseconds of a rollout: the mean of a usual machine. */
  readonly rolloutTime: number;
  /** Numbers in a rollout; some seeds have rollouts larger than a message. */
  readonly rolloutSize: number;
  /** Numbers in each of the arrays of the weights. */
  readonly weightsSize: number;
  readonly rollouts: number;
  readonly learnTime: number;
  readonly maxStaleness: number;
  /** Epochs between two checkpoints. */
  readonly checkpoints: number;
  readonly faultsEnd: number;
  readonly remembers: number;
}

const maxPayload = 4096;
const faultsBegin = 3000;

function planOf(
  random: Random,
  workers: number,
  kinds: readonly FaultKind[] | undefined,
  seed: number,
): Plan {
  const drawn = faultKinds.filter(() => random.chance(0.4));
  const rolloutTime = random.between(3000, 8000);
  // Some trainers publish so often that workers read weights while the next are written.
  const isHasty = random.chance(0.1);
  const perSecond = (1000 * workers) / (1.5 * rolloutTime);
  return {
    kinds: kinds ?? (seed % 10 === 0 ? [] : drawn),
    capacity: Math.max(4, Math.round(perSecond * random.between(0.2, 2))),
    rolloutTime,
    rolloutSize: random.chance(0.25) ? 2500 : 16 + random.below(400),
    weightsSize: 100 + random.below(600),
    rollouts: Math.max(2, Math.round(perSecond * (isHasty ? 0.2 : random.between(0.5, 3)))),
    learnTime: isHasty ? 10 : random.between(100, 1500),
    maxStaleness: 2 + random.below(30),
    checkpoints: 1 + random.below(4),
    faultsEnd: random.between(8000, 20_000),
    remembers: random.chance(0.3) ? random.between(100, 5000) : 600_000,
  };
}

/** Seconds within which a run has to go on after its last fault, and to come to its end. */
const recoversWithin = 60;
const endsWithin = 120;

export async function simulateRun(options: SimulatedRunOptions): Promise<SimulatedRunResult> {
  return new SimulatedRun(options).result();
}

/** What one process of the trainer has taken. */
interface Life {
  readonly number: number;
  readonly broker: SimulatedBroker;
  readonly transport: ClusterTransport;
  readonly taken: Set<string>;
  /** The number of the last rollout of each worker. */
  readonly newest: Map<string, number>;
  /** Aborted when it is to stop taking rollouts for now. */
  stop: AbortController;
  state: ProcessState;
}

/** A process that starts has not joined the run yet. */
type ProcessState = "starts" | "works" | "left" | "killed";

interface Checkpoint {
  readonly updates: number;
  readonly replay: StateTree;
  readonly used: ReadonlySet<string>;
}

interface SimulatedWorker {
  readonly name: string;
  readonly link: LinkOptions;
  readonly broker: SimulatedBroker;
  /** Starts another process in its place. */
  readonly again: () => void;
  state: ProcessState;
}

class SimulatedRun {
  readonly #options: SimulatedRunOptions;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #server: SimulatedServer;
  /** The run's time: training, then the last weights are published, then all that is left is taken, and it is over. */
  #phase: "training" | "finishing" | "over" = "training";
  readonly #lives: Life[] = [];
  /** The one that is to train now. */
  #life!: Life;
  #checkpoint: Checkpoint | undefined;
  #epochs = 0;
  /** Ids of weights by the number that they are filled with, which tells all publications apart. */
  readonly #published: number[] = [];
  /** In which order they were stored, by the same numbers; and the last of all. */
  readonly #stored = new Map<number, number>();
  #last: number | undefined;
  readonly #workers: SimulatedWorker[] = [];
  #places: number;
  readonly #acknowledged = new Set<string>();
  readonly #taken = new Set<string>();
  #killed = 0;
  #unconnected = 0;
  #recovery = 0;

  constructor(options: SimulatedRunOptions) {
    this.#options = options;
    this.#places = options.workers;
    this.#simulation = new Simulation(options.seed, options.log);
    this.#random = this.#simulation.random;
    this.#plan = planOf(this.#random, options.workers, options.faults, options.seed);
    this.#server = new SimulatedServer(this.#simulation, {
      maxPayload,
      remembers: this.#plan.remembers,
      // 10 Gbit/s, and a disk of 500 MB/s.
      speed: 12_500,
      disk: 5000,
    });
  }

  async result(): Promise<SimulatedRunResult> {
    const { seed, workers } = this.#options;
    const simulation = this.#simulation;
    const { kinds } = this.#plan;
    simulation.note(`seed ${seed}, ${workers} workers, faults: ${kinds.join(", ") || "none"}`);
    this.#startTrainer();
    for (let place = 0; place < workers; place++)
      simulation.after(this.#random.between(0, 2000), () => this.#startWorker(place, 0));
    this.#planFaults();
    let state: "running" | "done" = "running";
    this.#scenario().then(
      () => {
        state = "done";
      },
      (error) => simulation.fail(error),
    );
    try {
      await simulation.run(() => state === "done");
    } finally {
      this.#phase = "over";
      for (const life of this.#lives) life.stop.abort();
    }
    return {
      seed,
      faults: kinds,
      hash: simulation.hash,
      events: simulation.events,
      seconds: simulation.now / 1000,
      acknowledged: this.#acknowledged.size,
      taken: this.#taken.size,
      duplicates: this.#lives.reduce((sum, { transport }) => sum + transport.stats.duplicates, 0),
      epochs: this.#epochs,
      killed: this.#killed - this.#unconnected,
      unconnected: this.#unconnected,
      recovery: this.#recovery,
      server: this.#server.counts,
    };
  }

  /** From the end of the faults to the end of the run. */
  async #scenario(): Promise<void> {
    const simulation = this.#simulation;
    await simulation.wait(this.#plan.faultsEnd);
    const { now } = simulation;
    const epochs = this.#epochs + 2;
    simulation.note("faults are over");
    await this.#until("two more epochs", recoversWithin, () => this.#epochs >= epochs);
    this.#recovery = (simulation.now - now) / 1000;
    this.#goTo("finishing");
    for (const late of [500, 8500, 16_500])
      simulation.after(late, () => this.#startWorker(this.#places++, 0));
    await simulation.wait(17_000);
    await this.#until("all workers have the last weights and left", endsWithin, () =>
      this.#workers.every(({ state }) => state === "left" || state === "killed"),
    );
    const [queue] = this.#server.queues.values();
    await this.#until("the queue is empty", endsWithin, () => queue?.length === 0);
    await this.#until("there is one trainer", endsWithin, () =>
      this.#lives.every((life) => life === this.#life || life.state === "killed"),
    );
    this.#goTo("over");
    for (const id of this.#acknowledged)
      if (!this.#taken.has(id)) throw new Error(`rollout ${id} was acknowledged and never taken`);
    await this.#life.transport.close();
    simulation.note("closed");
  }

  #isCurrent(life: Life): void {
    this.#life = life;
    if (this.#phase !== "training") this.#goTo(this.#phase);
  }

  /** One that works, though another was started. */
  get #olderTrainer(): Life | undefined {
    return this.#lives.find((life) => life.state === "works" && life !== this.#life);
  }

  #goTo(phase: "finishing" | "over"): void {
    this.#simulation.note(`the run is ${phase}`);
    this.#phase = phase;
    const { stop } = this.#life;
    this.#life.stop = new AbortController();
    stop.abort();
  }

  async #until(what: string, seconds: number, isSo: () => boolean): Promise<void> {
    const simulation = this.#simulation;
    const until = simulation.now + seconds * 1000;
    while (!isSo()) {
      if (simulation.now > until)
        throw new Error(`not within ${seconds} seconds: ${what} (${this.#situation()})`);
      await simulation.wait(100);
    }
  }

  /** For who looks at a failure. */
  #situation(): string {
    const working = this.#workers.filter(({ state }) => state === "starts" || state === "works");
    const queues = [...this.#server.queues].map(([name, { length }]) => `${name} ${length}`);
    return [
      `${this.#epochs} epochs, ${this.#acknowledged.size} acknowledged, ${this.#taken.size} taken`,
      `${working.length} workers, such as ${working.slice(0, 3).map(({ name }) => name)}`,
      `queues: ${queues}`,
      `trainer.${this.#life.number}: ${this.#life.state}, ${JSON.stringify(this.#life.transport.stats)}`,
    ].join("; ");
  }

  #startTrainer(): void {
    const number = this.#lives.length;
    const broker = this.#server.connect(`trainer.${number}`, { latency: 0.2, jitter: 0.1, speed: 12_500 });
    const transport = new ClusterTransport({
      run: "simulated",
      capacity: this.#plan.capacity,
      connect: async () => broker,
      warn: (text) =>
        this.#simulation.note(`trainer.${number} warns: ${text.replace(/process \d+ on \S+/, "another")}`),
      session: 1 + this.#random.below(2 ** 31),
    });
    const life: Life = {
      ...{ number, broker, transport, taken: new Set(), newest: new Map() },
      ...{ stop: new AbortController(), state: "starts" },
    };
    this.#lives.push(life);
    this.#life = life;
    this.#simulation.note(`trainer.${number} starts`);
    this.#train(life).catch((error: unknown) => this.#failed(life, error, () => this.#startTrainer()));
  }

  /** A process has ended with an error. It is started again where that was because it could not join the run. */
  #failed(process: Life | SimulatedWorker, error: unknown, again: () => void): void {
    const code = error instanceof EspalierError ? error.code : "";
    const { name } = process.broker;
    const isDisplaced = code === "CLUSTER_RUN_TAKEN";
    if ("transport" in process && (isDisplaced || code === "CLUSTER_NAME_TAKEN") && this.#olderTrainer) {
      // One of two is enough: the one that was cut off, where it is back before another could replace it.
      this.#simulation.note(`${name} ends: another has the run`);
      process.state = "killed";
      void process.transport.close();
      if (process === this.#life) this.#isCurrent(this.#olderTrainer);
    } else if (isDisplaced || (process.state === "starts" && startsAgain.includes(code))) {
      this.#simulation.note(`${name} is not in the run: ${code}`);
      this.#unconnected++;
      this.#kill(process, 1000, again);
    } else this.#simulation.fail(error);
  }

  #kill(process: Life | SimulatedWorker, milliseconds: number, again: () => void): void {
    if (process.state === "killed" || process.state === "left") return;
    process.state = "killed";
    this.#killed++;
    process.broker.kill();
    this.#simulation.after(milliseconds, again);
  }

  async #train(life: Life): Promise<void> {
    const { broker } = life;
    const { rollouts, maxStaleness, learnTime, checkpoints } = this.#plan;
    const saved = this.#checkpoint;
    const replay = new RolloutReplay({ maxReuse: 1, maxStaleness });
    if (saved) replay.setState(saved.replay);
    const used = new Set(saved?.used);
    let updates = saved?.updates ?? 0;
    const accept = (rollout: Rollout): boolean => {
      const isNew = replay.add(rollout, updates);
      if (isNew && used.has(rollout.id)) throw new Error(`rollout ${rollout.id} is learned from twice`);
      if (isNew) used.add(rollout.id);
      return isNew;
    };
    // One that another has replaced does not know.
    const trains = (): boolean =>
      this.#phase === "training" || (life !== this.#life && this.#phase !== "over");
    for (let epoch = 1; trains(); epoch++) {
      replay.expire(updates);
      await this.#publish(life, updates);
      life.state = "works";
      for (let seen = 0; seen < rollouts && trains(); ) {
        const rollout = await this.#take(life);
        if (rollout && accept(rollout)) seen++;
      }
      replay.draw(replay.available, Uint32Array.of(this.#options.seed, updates));
      await pause(broker, learnTime);
      updates++;
      this.#simulation.note(`an epoch of trainer.${life.number}`);
      if (life !== this.#life) continue;
      this.#epochs++;
      if (epoch % checkpoints === 0)
        this.#checkpoint = { updates, replay: replay.getState(), used: new Set(used) };
    }
    this.#last = this.#published.length;
    await this.#publish(life, updates);
    while (this.#phase === "finishing") {
      const rollout = await this.#take(life);
      if (rollout) accept(rollout);
    }
  }

  async #publish({ transport, number }: Life, id: number): Promise<void> {
    const filled = this.#published.push(id) - 1;
    const { weightsSize } = this.#plan;
    this.#simulation.note(`trainer.${number} publishes ${id} as ${filled}`);
    await transport.publish({
      id,
      arrays: {
        first: arrayOf(filled, weightsSize),
        second: arrayOf(filled, 2 * weightsSize),
        third: arrayOf(filled, 7),
      },
    });
    this.#stored.set(filled, this.#stored.size);
    // Workers that come late, and do no more than to receive them.
    if (this.#random.chance(0.5))
      this.#simulation.after(this.#random.chance(0.5) ? 0 : this.#random.between(0, 4000), () =>
        this.#startWorker(this.#places++, 0, "reads"),
      );
  }

  async #take(life: Life): Promise<Rollout | undefined> {
    const { transport, taken, newest } = life;
    const rollout = await transport.take({ signal: life.stop.signal });
    if (life.state === "killed") return new Promise(() => undefined);
    const { queued } = transport.stats;
    // What one trainer acknowledges while another has it, or acknowledged before it died, makes room for more.
    const several = this.#plan.kinds.some((kind) => kind === "two trainers" || kind === "trainer");
    const capacity = this.#plan.capacity * (several ? 2 : 1);
    const stored = this.#server.counts.longest;
    if (queued > capacity || stored > this.#plan.capacity)
      throw new Error(`${queued} rollouts wait at the trainer, ${stored} at the server: ${capacity} may`);
    if (!rollout) return undefined;
    const { id, worker } = rollout;
    const n = numberOf(rollout);
    this.#simulation.note(`taken: ${id}`);
    if (taken.has(id)) throw new Error(`rollout ${id} is taken twice by trainer.${life.number}`);
    taken.add(id);
    this.#taken.add(id);
    checkFilled(rollout.arrays, n, `rollout ${id}`);
    const before = newest.get(worker) ?? -1;
    const [queue] = this.#server.queues.values();
    if (n < before && !queue?.repeated.has(id))
      throw new Error(`rollout ${id} is taken after number ${before} of its worker`);
    newest.set(worker, Math.max(n, before));
    return rollout;
  }

  /** A process in one of the places of workers. Another one takes the place after it. */
  #startWorker(place: number, process: number, does: "works" | "reads" = "works"): void {
    if (this.#phase === "over" || (this.#phase === "finishing" && does === "reads")) return;
    const random = this.#random;
    const name = `w${place}-${process}`;
    const isFar = random.chance(0.2);
    const link: LinkOptions = isFar
      ? { latency: random.between(20, 150), jitter: 10, speed: random.between(50, 500) }
      : { latency: random.between(0.1, 1), jitter: 0.2, speed: 1250 };
    const worker: SimulatedWorker = {
      name,
      link,
      broker: this.#server.connect(name, link),
      again: () => this.#startWorker(place, process + 1, does),
      state: "starts",
    };
    this.#workers[place] = worker;
    this.#work(worker, does).catch((error: unknown) => this.#failed(worker, error, worker.again));
  }

  async #work(worker: SimulatedWorker, does: "works" | "reads"): Promise<void> {
    const { name, broker } = worker;
    const { rolloutTime, rolloutSize } = this.#plan;
    const random = this.#random;
    const link = new ClusterLink({
      run: "simulated",
      name,
      connect: async () => broker,
      warn: (text) => this.#simulation.note(`${name} warns: ${text}`),
    });
    // A machine is up to twice as slow as the fastest.
    const slowness = random.between(1, 2);
    let newest = this.#stored.size - 1;
    let weights = await link.receive({ wait: true });
    worker.state = "works";
    const check = (weights: Weights): number => {
      const filled = this.#checkWeights(weights, name);
      const order = this.#stored.get(filled) ?? newest;
      if (order < newest)
        throw new Error(
          `${name} receives weights ${filled}, the ${order}th, after the ${newest}th were there`,
        );
      newest = order;
      return filled;
    };
    for (let n = 0; this.#phase === "training" && does === "works" && weights; n++) {
      const filled = check(weights);
      await pause(broker, slowness * rolloutTime * random.between(0.7, 1.3));
      const id = `${name}/${n}`;
      await link.send({
        id,
        worker: name,
        weightId: weights.id,
        lesson: "walk",
        arrays: { x: { ...arrayOf(n, rolloutSize), shape: [1, rolloutSize] } },
        episodes: 1,
        return: n,
        positive: filled % 2,
      });
      this.#acknowledged.add(id);
      weights = (await link.receive()) ?? weights;
    }
    while (weights && check(weights) !== this.#last && does === "works")
      weights = await link.receive({ wait: true });
    if (!weights) throw new Error(`${name} receives no weights any more`);
    await link.close();
    worker.state = "left";
  }

  #checkWeights({ id, arrays }: Weights, who: string): number {
    const filled = arrays.first?.data[0] as number;
    checkFilled(arrays, filled, `weights ${id} at ${who}`);
    if (this.#published[filled] !== id)
      throw new Error(`${who} has weights ${id} that are filled with ${filled}`);
    return filled;
  }

  /** Draws when each fault begins, and how long it lasts: none lasts longer than all of them. */
  #planFaults(): void {
    const { kinds, faultsEnd } = this.#plan;
    const simulation = this.#simulation;
    const server = this.#server;
    const random = this.#random;
    const times = (count: number, longest: number, fault: (length: number) => void): void => {
      for (let i = 0; i < count; i++) {
        const start = random.between(faultsBegin, faultsEnd);
        const length = Math.min(random.between(100, longest), faultsEnd - start);
        simulation.at(start, () => fault(length));
      }
    };
    const some = (share: number): readonly SimulatedWorker[] =>
      this.#workers.filter(() => random.chance(share));
    const shares: Partial<Faults> = {};
    const plans: Readonly<Record<FaultKind, () => void>> = {
      partitions: () =>
        times(1 + random.below(4), 15_000, (length) => {
          const whom = random.below(4);
          const cut = whom === 0 ? [] : some(whom === 1 ? 1 : random.between(0.05, 0.5));
          if (whom === 0 || whom === 3) this.#life.broker.cut(length);
          for (const { broker } of cut) broker.cut(length);
          simulation.note(`${cut.length} workers are cut off for ${Math.round(length)} ms, kind ${whom}`);
        }),
      "slow links": () =>
        times(1 + random.below(3), 10_000, (length) => {
          const slowed = some(random.between(0.05, 0.5));
          simulation.note(`${slowed.length} links are slow for ${Math.round(length)} ms`);
          for (const { broker } of slowed) broker.link = { latency: 400, jitter: 300, speed: 2 };
          simulation.after(length, () => {
            for (const { broker, link } of slowed) broker.link = link;
          });
        }),
      workers: () =>
        times(Math.ceil(this.#options.workers * random.between(0.02, 0.4)), 5000, (length) => {
          const worker = this.#workers[random.below(this.#options.workers)];
          if (worker) this.#kill(worker, length, worker.again);
        }),
      trainer: () =>
        times(1 + random.below(3), 3000, (length) => {
          if (!this.#olderTrainer) this.#kill(this.#life, length, () => this.#startTrainer());
        }),
      "two trainers": () => {
        // It is cut off for longer than its lease, and somebody starts another; it does not know when it is back.
        simulation.at(random.between(faultsBegin, 5000), () => {
          const { broker, state, number } = this.#life;
          if (state !== "works") return;
          simulation.note(`trainer.${number} is cut off, and another starts`);
          broker.cut(random.between(13_000, 20_000));
          this.#startTrainer();
        });
      },
      server: () => times(1 + random.below(3), 8000, (length) => server.crash(length)),
      disk: () =>
        times(1, 8000, (length) => {
          simulation.note(`the server's disk is full for ${Math.round(length)} ms`);
          server.diskFull = true;
          simulation.after(length, () => {
            server.diskFull = false;
          });
        }),
      losses: () => {
        shares.announcements = random.between(0, 0.5);
        shares.watched = random.between(0, 0.5);
        shares.acknowledgements = random.between(0, 0.3);
        shares.overtaken = random.between(0, 0.5);
      },
      doubles: () => {
        shares.doubled = random.between(0, 0.3);
        shares.doubledWithin = random.between(10, 20_000);
      },
      stragglers: () => {
        shares.stragglers = random.between(0.002, 0.06);
      },
    };
    for (const kind of kinds) plans[kind]();
    simulation.at(faultsBegin, () => {
      server.faults = { ...noFaults, ...shares };
    });
    // What is only a hint may be lost at any time.
    simulation.at(faultsEnd, () => {
      const { announcements, watched, overtaken } = server.faults;
      server.faults = { ...noFaults, announcements, watched, overtaken };
    });
  }
}

/** Codes of errors after which a process that was starting is started again, as a supervisor does. */
const startsAgain: readonly string[] = ["CLUSTER_NO_ANSWER", "CLUSTER_SERVER_FULL", "CLUSTER_NAME_TAKEN"];

/** Waits in a process: it does not go on when that was killed. */
const pause = ({ timers }: SimulatedBroker, milliseconds: number): Promise<void> =>
  new Promise((resolve) => void timers.after(milliseconds, resolve));

const arrayOf = (value: number, length: number): NamedArrays[string] => ({
  data: new Float32Array(length).fill(value),
  shape: [length],
});

const numberOf = ({ id }: Rollout): number => Number(id.slice(id.indexOf("/") + 1));

function checkFilled(arrays: NamedArrays, value: number, what: string): void {
  for (const [name, { data }] of Object.entries(arrays))
    for (let i = 0; i < data.length; i++)
      if (data[i] !== value) throw new Error(`${what}: "${name}" has ${data[i]} beside ${value}`);
}
