import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { TrainerHook } from "../../trainer/index.ts";
import type { ControlAction, ControlRecord, ControlState } from "./control.ts";

/** Waits for something that a run does by itself. */
export const until = <T>(found: () => T | undefined): Promise<T> =>
  vi.waitFor(
    () => {
      const value = found();
      if (value === undefined) throw new Error("not yet");
      return value;
    },
    { interval: 2, timeout: 240_000 },
  );

let asked = 0;

/** Puts a request into a run's directory, as others do it. */
export function put(directory: string, action: ControlAction, more: object = {}): string {
  const request = { id: `request-${++asked}`, who: "tester", at: 1000 + asked, ...action, ...more };
  return putText(directory, request.id, JSON.stringify(request));
}

/** Puts any text where requests are. */
export function putText(directory: string, id: string, text: string): string {
  const requests = join(directory, "control", "requests");
  mkdirSync(requests, { recursive: true });
  writeFileSync(join(requests, `.${id}.tmp`), text);
  renameSync(join(requests, `.${id}.tmp`), join(requests, `${id}.json`));
  return id;
}

export const journalOf = (directory: string): readonly ControlRecord[] => {
  const file = join(directory, "control", "journal.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ControlRecord);
};

export const answerOf = (directory: string, id: string): ControlRecord | undefined =>
  journalOf(directory).find(({ request }) => request.id === id);

/** Asks a run, and waits for its answer. */
export async function ask(
  directory: string,
  action: ControlAction,
): Promise<Pick<ControlRecord, "outcome" | "message"> & { readonly batches: number }> {
  const id = put(directory, action);
  const { outcome, message, counters } = await until(() => answerOf(directory, id));
  return { outcome, message, batches: counters.batches };
}

export const stateOf = (directory: string): ControlState =>
  JSON.parse(readFileSync(join(directory, "control", "state.json"), "utf8")) as ControlState;

/** Gives the event loop a turn after each call of a task that never waits. */
export const turns: TrainerHook = {
  name: "turns",
  onBatchesEnd: () => new Promise<void>((resolve) => setImmediate(resolve)),
};
