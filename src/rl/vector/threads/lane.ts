import { EspalierError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { Memory } from "../memory.ts";
import type { Part } from "../stepper.ts";
import type { Heard, Link, LinkOptions } from "./link.ts";
import { Recovery, type Shared } from "./recovery.ts";

/** Environments of a vector that a thread steps, or another thread when that one is lost. */
export class Lane implements Part {
  readonly first: number;
  readonly count: number;
  readonly #nextLessons: Int32Array;
  readonly #recovery: Recovery;
  readonly #shared: Shared;
  #link: Link;

  constructor(options: LinkOptions, link: Link, shared: Shared) {
    this.first = options.first;
    this.count = options.count;
    this.#nextLessons = shared.outputs.nextLessons.subarray(this.first, this.first + this.count);
    this.#shared = shared;
    this.#link = link;
    link.attach(shared.description);
    this.#recovery = new Recovery(options, shared, link);
  }

  get memory(): Memory {
    return this.#link.memory;
  }

  /** Puts another thread in the place of one that is lost. */
  revive(): void {
    if (this.#link.lost) this.#link = this.#recovery.renew();
  }

  sendBegin(): void {
    this.memory.nextLessons.set(this.#nextLessons);
    this.#recovery.begin();
    this.#recovery.log?.outdate();
    this.#link.send("begin");
  }

  sendStep(actions: Float32Array): void {
    const { memory } = this;
    const from = this.first * (memory.actions.length / this.count);
    for (let k = 0; k < memory.actions.length; k++) memory.actions[k] = actions[from + k] as number;
    memory.nextLessons.set(this.#nextLessons);
    this.#recovery.begin();
    this.#recovery.log?.add(memory);
    this.#link.send("step");
  }

  /** Waits for an answer to `begin` or `step`. Returns the error that stops the vector, if there is one. */
  finish(command: "begin" | "step"): EspalierError | undefined {
    for (;;) {
      const heard = this.#link.listen(command === "begin" ? "reset" : "step");
      const { lost, error, restarts } = heard;
      if (restarts && restarts.length > 0) this.#recovery.restarted(restarts);
      for (const { i, info } of heard.infos ?? []) this.#shared.infos.add(i, info);
      if (heard.outside !== undefined) this.#shared.outside.push(heard.outside);
      if (lost === undefined) return error;
      const other = this.#recovery.replace(this.#link, command, lost, error as EspalierError);
      if (other instanceof EspalierError) return other;
      this.#link = other;
      this.#link.send(command);
    }
  }

  /** Whether states have to be taken before another step. */
  get needsStates(): boolean {
    return this.#recovery.log?.due ?? false;
  }

  sendStates(): void {
    this.#link.send("states");
  }

  finishStates(): Heard {
    return this.#link.listen("getState");
  }

  /** Takes states from which the steps to come can be repeated. Returns what went wrong. */
  keepStates(): EspalierError | undefined {
    const { error, states } = this.finishStates();
    if (states) this.#recovery.log?.begin(states, this.#link.buffer);
    return error;
  }

  restore(states: readonly StateTree[]): void {
    this.#recovery.log?.outdate();
    this.#link.ask("restore", "setState", states);
  }

  close(): void {
    this.#link.tryAsk("close", "make");
    this.#link.end();
  }
}
