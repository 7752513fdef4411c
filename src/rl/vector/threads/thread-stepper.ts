import type { EspalierError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { checkAlike, type Description, sizesOf } from "../description.ts";
import { InfoSums } from "../infos.ts";
import { type Memory, ownMemory } from "../memory.ts";
import type { Restart, Stepper } from "../stepper.ts";
import { Lane } from "./lane.ts";
import { Link, type LinkOptions } from "./link.ts";

const given = ["observations", "rewards", "terminated", "truncated", "resets", "actionMasks"] as const;

/** Steps environments in other threads, all at the same time. */
export class ThreadStepper implements Stepper {
  readonly description: Description;
  readonly outputs: Memory;
  readonly parts: readonly Lane[];
  readonly restarts: Restart[] = [];
  readonly infos = new InfoSums();
  readonly outside: string[] = [];
  /** For each lane, where in the outputs its rows go. */
  readonly #views: readonly Pick<Memory, (typeof given)[number]>[];

  constructor(count: number, threads: readonly LinkOptions[]) {
    const links = threads.map((options) => new Link(options));
    try {
      const descriptions = links.map((link) => link.made());
      this.description = descriptions[0] as Description;
      descriptions.forEach((other, t) => {
        checkAlike(this.description, other, (threads[t] as LinkOptions).first);
      });
      this.outputs = ownMemory(sizesOf(this.description, count));
      const { description, outputs, restarts, infos, outside } = this;
      this.parts = links.map(
        (link, t) =>
          new Lane(threads[t] as LinkOptions, link, { description, outputs, restarts, infos, outside }),
      );
    } catch (error) {
      for (const link of links) link.end();
      throw error;
    }
    this.#views = this.parts.map((lane) => viewsOf(this.outputs, lane));
  }

  revive(): void {
    for (const lane of this.parts) lane.revive();
  }

  begin(): void {
    for (const lane of this.parts) lane.sendBegin();
    this.#finish("begin");
  }

  step(actions: Float32Array): void {
    this.#keepStates();
    for (const lane of this.parts) lane.sendStep(actions);
    this.#finish("step");
  }

  states(): readonly StateTree[] {
    for (const lane of this.parts) lane.sendStates();
    const heard = this.parts.map((lane) => lane.finishStates());
    const stop = heard.find(({ error }) => error);
    if (stop) throw stop.error;
    return heard.flatMap(({ states }) => states ?? []);
  }

  restore(states: readonly StateTree[]): void {
    for (const lane of this.parts) lane.restore(states.slice(lane.first, lane.first + lane.count));
  }

  close(): void {
    for (const lane of this.parts) lane.close();
  }

  #keepStates(): void {
    let stop: EspalierError | undefined;
    for (const lane of this.parts) if (lane.needsStates) lane.sendStates();
    for (const lane of this.parts) if (lane.needsStates) stop = lane.keepStates() ?? stop;
    if (stop) throw stop;
  }

  /** Waits for all, whatever happens to one of them, so that nothing is under way when an error is raised. */
  #finish(command: "begin" | "step"): void {
    let stop: EspalierError | undefined;
    for (let t = 0; t < this.parts.length; t++) {
      const lane = this.parts[t] as Lane;
      const error = lane.finish(command);
      stop ??= error;
      const view = this.#views[t] as Memory;
      for (let k = 0; k < given.length; k++) {
        const key = given[k] as (typeof given)[number];
        view[key].set(lane.memory[key]);
      }
    }
    if (stop) throw stop;
  }
}

function viewsOf(outputs: Memory, { first, count }: Lane): Pick<Memory, (typeof given)[number]> {
  const part = <T extends Float32Array | Uint8Array>(whole: T): T => {
    const each = whole.length / outputs.lengths.length;
    return whole.subarray(first * each, (first + count) * each) as T;
  };
  return {
    observations: part(outputs.observations),
    rewards: part(outputs.rewards),
    terminated: part(outputs.terminated),
    truncated: part(outputs.truncated),
    resets: part(outputs.resets),
    actionMasks: part(outputs.actionMasks),
  };
}
