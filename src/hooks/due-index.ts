import { type Adds, type Counters, type Moment, noCounters, type Point } from "../schedule/index.ts";
import type { Entry } from "./entry.ts";
import { Heap } from "./heap.ts";

interface Waiting {
  readonly entry: Entry;
  /** The count from which it may be due. */
  readonly at: number;
}

interface Queue {
  readonly unit: string;
  readonly heap: Heap<Waiting>;
}

/** Waits for the first of several points in different units. */
interface Several {
  readonly entry: Entry;
  readonly points: readonly Point[];
}

/**
 * Finds the hooks of one event that may be due without asking all of them: those whose schedules can tell wait in a
 * queue per unit, the soonest first. Ten thousand hooks that are not due cost as much as one.
 */
export class DueIndex {
  /** All hooks of the event, in order. */
  readonly entries: readonly Entry[];
  /** Hooks to be asked at every event, in order. Never changed in place: an event under way may go through it. */
  #always: readonly Entry[] = [];
  #queues: Queue[] = [];
  #several: Several[] = [];
  /** The counters after which the queues hold all points. Undefined before hooks were asked. */
  #asked: Counters | undefined;
  /** Counters of the host's own. */
  #own: readonly string[] = [];

  constructor(entries: readonly Entry[]) {
    this.entries = entries;
  }

  /** The hooks to ask now, in order: no other can be due between `since` and now. */
  collect({ counters, since }: Moment): readonly Entry[] {
    if (since === undefined || this.#isBefore(counters, this.#asked ?? since)) this.#visitAll(counters);
    else this.#askFrom(since);
    const reached: Entry[] = [];
    for (const { unit, heap } of this.#queues) {
      const now = counters[unit] ?? 0;
      for (let top = heap.peek(); top !== undefined && top.at <= now; top = heap.peek()) {
        reached.push(top.entry);
        heap.pop();
      }
    }
    if (this.#several.length > 0)
      this.#several = this.#several.filter((each) => {
        const waits = each.points.every(({ unit, at }) => at > (counters[unit] ?? 0));
        if (!waits) reached.push(each.entry);
        return waits;
      });
    this.#asked = counters;
    if (reached.length === 0) return this.#always;
    const found = inPlan([...this.#always, ...reached]);
    for (const entry of reached) {
      const points = pointsOf(entry, counters);
      if (points === undefined) this.#always = inPlan([...this.#always, entry]);
      else this.#wait(entry, points);
    }
    return found;
  }

  /** True where any hook may be due at these counters. Looks back to `since`, or to the last time hooks were asked. */
  mayRun(counters: Counters, since?: Counters): boolean {
    if (since !== undefined) this.#askFrom(since);
    if (this.#asked === undefined || this.#isBefore(counters, this.#asked)) return this.entries.length > 0;
    if (this.#always.length > 0) return true;
    for (const { unit, heap } of this.#queues) {
      const top = heap.peek();
      if (top !== undefined && top.at <= (counters[unit] ?? 0)) return true;
    }
    return this.#several.some(({ points }) => points.some(({ unit, at }) => at <= (counters[unit] ?? 0)));
  }

  /** Repeats, each adding `adds`, after which a hook may be due: 1 to limit, or limit + 1. */
  untilDue(at: Counters, adds: Adds, limit: number, since = at): number {
    this.#askFrom(since);
    if (this.#always.length > 0) return 1;
    let least = limit + 1;
    for (const { unit, heap } of this.#queues) {
      const top = heap.peek();
      if (top !== undefined) least = Math.min(least, repeatsUntil(unit, top.at, at, adds));
    }
    for (const { points } of this.#several)
      for (const point of points) least = Math.min(least, repeatsUntil(point.unit, point.at, at, adds));
    return least;
  }

  /** Asks again from `since` where the queues were filled later: hooks that came in between, another host. */
  #askFrom(since: Counters): void {
    if (this.#asked !== undefined && !this.#isBefore(since, this.#asked)) return;
    this.#fill(since, (entry) => pointsOf(entry, since));
  }

  /** Has all hooks asked: a run that went back, or a moment without history, may cross any point again. */
  #visitAll(counters: Counters): void {
    this.#fill(counters, ({ hook }) => (hook.schedule === undefined ? undefined : atOnce));
  }

  #fill(asked: Counters, points: (entry: Entry) => readonly Point[] | undefined): void {
    this.#queues = [];
    this.#several = [];
    this.#asked = asked;
    this.#own = Object.keys(asked).filter((name) => !(name in noCounters));
    const always: Entry[] = [];
    for (const entry of this.entries) {
      if (!entry.enabled) continue;
      const found = points(entry);
      if (found === undefined) always.push(entry);
      else this.#wait(entry, found);
    }
    this.#always = always;
  }

  /** Queues a hook. One without points never comes again. */
  #wait(entry: Entry, points: readonly Point[]): void {
    const first = points[0];
    if (first === undefined) return;
    if (points.length === 1) this.#queueOf(first.unit).heap.push({ entry, at: first.at });
    else this.#several.push({ entry, points });
  }

  #queueOf(unit: string): Queue {
    const known = this.#queues.find((queue) => queue.unit === unit);
    if (known) return known;
    const queue = { unit, heap: new Heap<Waiting>((a, b) => a.at < b.at) };
    this.#queues.push(queue);
    return queue;
  }

  /** Asked at every event: the names are spelt out, so that the engine finds them without a look-up. */
  #isBefore(a: Counters, b: Counters): boolean {
    if (a === b) return false;
    if (a.epochs < b.epochs || a.batches < b.batches || a.updates < b.updates) return true;
    if (a.samples < b.samples || a.steps < b.steps || a.seconds < b.seconds) return true;
    return this.#own.some((name) => (a[name] ?? 0) < (b[name] ?? 0));
  }
}

/** The number of repeats, each adding `adds`, that reach a point. */
function repeatsUntil(unit: string, point: number, at: Counters, adds: Adds): number {
  const missing = point - (at[unit] ?? 0);
  // No plan of repeats can foresee seconds.
  return missing <= 0 || unit === "seconds" ? 1 : Math.ceil(missing / (adds[unit] ?? 0));
}

const atOnce: readonly Point[] = [{ unit: "steps", at: Number.NEGATIVE_INFINITY }];

const inPlan = (entries: Entry[]): readonly Entry[] =>
  entries.length > 1 ? entries.sort((a, b) => a.order - b.order) : entries;

/** The points that a hook waits for; undefined where they are not known. A schedule that fails here fails again when it is asked. */
export function pointsOf({ hook }: Entry, counters: Counters): readonly Point[] | undefined {
  try {
    return hook.schedule?.nextDue(counters);
  } catch {
    return undefined;
  }
}
