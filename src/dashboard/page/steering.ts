// Requests to runs, and what they answered. What is shown of a run is what it said itself.
import { signal } from "@preact/signals";
import type { ControlAction } from "../../metrics/index.ts";
import type { ControlRecord, ControlRequest, ControlState, RunDetail } from "../api.ts";
import { onLive, send } from "./client.ts";

/** A request of this page. It waits until its record is there. */
export interface Sent {
  readonly run: string;
  readonly request: ControlRequest;
  readonly record?: ControlRecord;
}

/** Requests of this page, newest first. */
export const sent = signal<readonly Sent[]>([]);

const states = signal<Readonly<Record<string, ControlState>>>({});

onLive("control", ({ run, state, records }) => {
  states.value = { ...states.peek(), [run]: state };
  const answers = new Map(records.map((record) => [record.request.id, record]));
  sent.value = sent.peek().map((one) => {
    const record = answers.get(one.request.id);
    return record ? { ...one, record } : one;
  });
});

/** What a run said last of what it is doing; undefined where nothing listens. */
export function controlOf({ id, control }: RunDetail): ControlState | undefined {
  const said = states.value[id];
  return said && (!control || said.wall >= control.wall) ? said : control;
}

/** Sends a request. It is shown as waiting until the run answers. */
export async function steer(run: string, action: ControlAction, who: string): Promise<void> {
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0"));
  const request: ControlRequest = { ...action, id: id.join(""), who, at: Date.now() };
  sent.value = [{ run, request }, ...sent.peek()].slice(0, 20);
  const accepted = await send("POST", `/api/runs/${encodeURIComponent(run)}/control`, request);
  // The reason is shown by `send`.
  if (accepted === undefined) sent.value = sent.peek().filter((one) => one.request.id !== request.id);
}

/** A request in words: "set learningRate to 0.001". */
export function requestText(request: ControlAction): string {
  if (request.action === "set")
    return request.value === null
      ? `release ${request.ramp}`
      : `set ${request.ramp} to ${String(request.value)}`;
  return "hook" in request ? `${request.action} ${request.hook}` : request.action;
}
