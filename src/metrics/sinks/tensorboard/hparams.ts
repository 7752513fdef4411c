import type { Json } from "../../json.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import { MessageBytes } from "../wire/index.ts";
import { writePluginData } from "./values.ts";

const data = { start: 3, end: 4 } as const;
const start = { parameters: 1, time: 5 } as const;
const end = { status: 1, time: 2, SUCCESS: 1, FAILURE: 2 } as const;
const entry = { key: 1, value: 2 } as const;
const value = { number: 2, text: 3, boolean: 4 } as const;

/** Settings as TensorBoard can compare them: one by one, those within others by their path, lists as JSON. */
export function hyperparameters(config: Json): ReadonlyMap<string, number | string | boolean> {
  const found = new Map<string, number | string | boolean>();
  const visit = (at: Json, path: string): void => {
    if (typeof at === "object" && at !== null && !Array.isArray(at))
      for (const [name, inner] of Object.entries(at)) visit(inner, path === "" ? name : `${path}.${name}`);
    else if (typeof at === "number" || typeof at === "boolean" || typeof at === "string")
      found.set(path || "config", at);
    else if (path !== "") found.set(path, JSON.stringify(at));
  };
  visit(config, "");
  return found;
}

/** The run's settings, for the dashboard that compares runs by them. It finds the metrics by itself. */
export function writeSessionStart(out: MessageBytes, { config, startedAt }: RunInfo): void {
  const content = new MessageBytes();
  const session = content.begin(data.start);
  for (const [name, setting] of hyperparameters(config)) {
    const parameter = content.begin(start.parameters);
    content.text(entry.key, name);
    const held = content.begin(entry.value);
    if (typeof setting === "number") content.double(value.number, setting);
    else if (typeof setting === "boolean") content.boolean(value.boolean, setting);
    else content.text(value.text, setting);
    content.end(held);
    content.end(parameter);
  }
  content.double(start.time, startedAt / 1000);
  content.end(session);
  writePluginData(out, "_hparams_/session_start_info", "hparams", content.bytes());
}

/** How the run ended. Of an interrupted run nothing is said: it goes on, and TensorBoard believes the first it hears. */
export function writeSessionEnd(out: MessageBytes, { outcome }: RunEnding, wall: number): void {
  const content = new MessageBytes();
  const session = content.begin(data.end);
  content.integer(end.status, outcome === "failed" ? end.FAILURE : end.SUCCESS);
  content.double(end.time, wall / 1000);
  content.end(session);
  writePluginData(out, "_hparams_/session_end_info", "hparams", content.bytes());
}
