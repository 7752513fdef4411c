/** What the page may change, with the token: control of a run that trains, marks, and deletion. */
import { readdirSync, rmSync } from "node:fs";
import { readRecord } from "../config/index.ts";
import { checkOptions, EspalierError, isPlainObject, option } from "../core/index.ts";
import { type ControlRequest, putRequest, type RunMarks } from "../metrics/index.ts";
import { directoryOf, isRunAlive, type Runs, readControl, summaryOf } from "./runs.ts";
import { inside, invalid } from "./safety.ts";

const MOST_REQUESTS_WAITING = 100;

/** Puts a request into a run's directory. The run takes it at its next safe point, and its answer comes as an event. */
export async function control(runs: Runs, id: string, body: unknown): Promise<ControlRequest> {
  const row = await runs.row(id);
  const directory = directoryOf(runs, row);
  const state = readControl(directory);
  if (!directory || !state || state.state === "ended" || !isRunAlive(row, directory))
    throw new EspalierError("DASHBOARD_NOT_LISTENING", "the run does not take requests now", {
      fix: "runs that `espalier train` started take them while they train",
    });
  const requests = inside(directory, "control", "requests");
  if (requests === undefined || readdirSync(requests).length >= MOST_REQUESTS_WAITING)
    throw new EspalierError("DASHBOARD_BUSY", `${MOST_REQUESTS_WAITING} requests wait for the run already`, {
      fix: "wait until it has taken them at its next safe point",
    });
  return putRequest(directory, body);
}

const MOST_TAGS = 20;
const LONGEST_TAG = 50;

const marksTable = {
  tags: option.made<readonly string[]>(
    `at most ${MOST_TAGS} different texts of 1 to ${LONGEST_TAG} characters`,
    (value) =>
      Array.isArray(value) &&
      value.length <= MOST_TAGS &&
      new Set(value).size === value.length &&
      value.every((tag) => typeof tag === "string" && tag.trim() !== "" && tag.length <= LONGEST_TAG),
    {},
  ),
  archived: option.flag({}),
};

export async function mark(runs: Runs, id: string, body: unknown) {
  if (!isPlainObject(body)) throw invalid("marks are { tags, archived }");
  checkOptions("marks", body, marksTable);
  await runs.row(id);
  if (!runs.isFiled(id))
    throw invalid(
      "tags and the archive are in the stats store, and this run is in none",
      "let runs file in one: see `stats` in docs/configuration.md",
    );
  await runs.storeOf(id).mark(id, body as RunMarks);
  return summaryOf(runs, await runs.row(id));
}

/** Removes a run that has ended: its rows in the store and its directory, and nothing else. */
export async function remove(runs: Runs, id: string, confirm: string | null): Promise<object> {
  const row = await runs.row(id);
  if (confirm !== id)
    throw invalid("deleting a run needs its id once more", `send confirm=${encodeURIComponent(id)}`);
  const directory = directoryOf(runs, row);
  if (isRunAlive(row, directory))
    throw new EspalierError("RUN_ALIVE", "the run is training", { fix: "stop it first" });
  if (directory !== undefined) {
    if (readRecord(directory).id !== id)
      throw new EspalierError("RUN_MISSING", "the directory of this name is that of another run");
    rmSync(directory, { recursive: true });
  }
  await runs.storeOf(id).deleteRun(id);
  return {};
}
