import { availableParallelism, cpus } from "node:os";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../core/index.ts";
import { memory } from "../../engine/index.ts";

/** What the machine has been doing since the last look. */
export type MachineReading = {
  /** Processor time of this process and of everything on the machine: shares of all processors together. */
  readonly "cpu.process": number;
  readonly "cpu.machine": number;
  /** Bytes: of the process, of JavaScript's heap, of tensors on all devices. */
  readonly "memory.resident": number;
  readonly "memory.heap": number;
  readonly "memory.device": number;
  /** Tensors that are alive. */
  readonly tensors: number;
  /** By how many milliseconds the event loop was late. */
  readonly "eventLoop.mean": number;
  readonly "eventLoop.max": number;
};

/** Looks at the machine. */
export interface MachineProbe {
  read(): MachineReading;
  /** Lets go of what it holds. */
  close(): void;
}

/** Reads the clock of every processor: busy and in all, in milliseconds. */
function processorTimes(): { readonly busy: number; readonly all: number } {
  let [busy, all] = [0, 0];
  for (const { times } of cpus()) {
    const sum = times.user + times.nice + times.sys + times.idle + times.irq;
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}

/** Milliseconds of a count of nanoseconds; 0 where nothing was counted. */
const milliseconds = (nanoseconds: number): number =>
  Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e6) : 0;

/** How often the event loop is asked whether it is late, in milliseconds: so much of each delay is no delay. */
const resolution = 20;

/** The machine this process runs on. It holds a timer of the event loop, which keeps no process alive, until closed. */
export class SystemProbe implements MachineProbe {
  readonly #clock: Clock;
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution });
  #at: number;
  #own = process.cpuUsage();
  #machine = processorTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
    this.#delays.enable();
  }

  read(): MachineReading {
    const now = this.#clock.now();
    const own = process.cpuUsage();
    const machine = processorTimes();
    const used = (own.user + own.system - this.#own.user - this.#own.system) / 1000;
    const { rss, heapUsed } = process.memoryUsage();
    const { tensors, bytes } = memory();
    const delays = this.#delays;
    const reading: MachineReading = {
      "cpu.process": share(used, (now - this.#at) * availableParallelism()),
      "cpu.machine": share(machine.busy - this.#machine.busy, machine.all - this.#machine.all),
      "memory.resident": rss,
      "memory.heap": heapUsed,
      "memory.device": bytes,
      tensors,
      "eventLoop.mean": Math.max(0, milliseconds(delays.mean) - resolution),
      "eventLoop.max": Math.max(0, milliseconds(delays.max) - resolution),
    };
    delays.reset();
    this.#at = now;
    this.#own = own;
    this.#machine = machine;
    return reading;
  }

  close(): void {
    this.#delays.disable();
  }
}

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
