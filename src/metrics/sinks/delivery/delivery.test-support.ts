import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { metricRecord, runInfo } from "../../../testing/sinks/records.ts";
import type { MetricRecord } from "../../record.ts";
import type { Sink } from "../sink.ts";
import type { DeliveryOptions } from "./delivery.ts";
import { Delivery } from "./delivery.ts";
import { manualTimers } from "./timers.test-support.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-delivery-"));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;

/** A directory that no other test has. */
export const newFolder = (): string => join(folder, String(folders++));

/** Records of one metric at these steps, whose value is the step. */
export const steps = (from: number, to = from): MetricRecord[] =>
  Array.from({ length: to - from + 1 }, (_, i) => metricRecord({ step: from + i, value: from + i }));

/** A sink that keeps the steps it was given, and fails as it is told. */
export class TestSink implements Sink {
  readonly name: string = "test";
  readonly held: number[] = [];
  readonly calls: string[] = [];
  /** What the next calls do, of each kind. Default: they work at once. */
  readonly next: Record<"open" | "write" | "close", (() => void | Promise<void>)[]> = {
    open: [],
    write: [],
    close: [],
  };
  /** Every call to `write` fails. */
  down = false;

  open(): void | Promise<void> {
    this.calls.push("open");
    return this.next.open.shift()?.();
  }

  write(records: readonly MetricRecord[]): void | Promise<void> {
    this.calls.push(`write ${records.map(({ step }) => step).join(" ")}`);
    if (this.down) throw new Error("down");
    const filed = (): void => void this.held.push(...records.map(({ step }) => step));
    const answer = this.next.write.shift()?.();
    if (answer) return answer.then(filed);
    filed();
  }

  close(): void | Promise<void> {
    this.calls.push("close");
    return this.next.close.shift()?.();
  }
}

/** An answer that is given by hand. */
export function answer(): { promise: Promise<void>; give(): void; fail(error: Error): void } {
  const { promise, resolve: give, reject: fail } = withResolvers();
  return { promise, give, fail };
}

function withResolvers(): { promise: Promise<void>; resolve(): void; reject(error: Error): void } {
  let resolve = (): void => undefined;
  let reject = (_: Error): void => undefined;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

export const failing =
  (text = "down") =>
  (): never => {
    throw new Error(text);
  };

/** A sink with its delivery, its own time, and what was said. */
export function delivered(options: Partial<DeliveryOptions> = {}, sink: TestSink = new TestSink()) {
  const time = manualTimers();
  const said: string[] = [];
  const delivery = new Delivery(sink, {
    clock: time.clock,
    timers: time,
    warn: (text) => void said.push(text),
    ...options,
  });
  return { sink, delivery, time, said };
}

/** The same, opened. */
export function openDelivery(options: Partial<DeliveryOptions> = {}, sink: TestSink = new TestSink()) {
  const all = delivered(options, sink);
  all.delivery.open(runInfo("a-run"));
  return all;
}
