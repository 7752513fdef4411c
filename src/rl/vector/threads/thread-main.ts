import { receiveMessageOnPort } from "node:worker_threads";
import { EspalierError } from "../../../core/index.ts";
import type { Environment } from "../../environments/environment.ts";
import { makeAll } from "../make-all.ts";
import {
  CALLS,
  COMMAND,
  CURRENT,
  DONE,
  REQUEST,
  type Source,
  STATUS,
  statuses,
  type ThreadData,
} from "./protocol.ts";
import { sendError } from "./sent-error.ts";
import { ThreadWork } from "./thread-work.ts";

/** How long a thread waits without a turn of its event loop, in which what environments print goes out. */
const idle = 100;

/** The work of a thread: makes its environments, then does what it is asked, until it is ended. */
export async function environmentThread(data: ThreadData): Promise<void> {
  const { control, port, first, count, policies } = data;
  const finish = (request: number, status: number): void => {
    Atomics.store(control, STATUS, status);
    Atomics.store(control, DONE, request);
    Atomics.notify(control, DONE);
  };
  process.on("exit", () => {
    const request = Atomics.load(control, REQUEST);
    if (Atomics.load(control, DONE) !== request) finish(request, statuses.gone);
  });
  const calls = (i: number): void => {
    Atomics.store(control, CURRENT, i);
    Atomics.add(control, CALLS, 1);
  };
  const loaded = await makerOf(data.source);
  const make = (index: number): Environment => {
    calls(Math.max(index - first, 0));
    return loaded(index);
  };
  let work: ThreadWork | undefined;
  const perform = (request: number): void => {
    try {
      work ??= new ThreadWork(makeAll(make, first, count, data.masked), {
        make,
        first,
        policies,
        calls,
        port,
      });
      const sent = work.perform(Atomics.load(control, COMMAND), () => receiveMessageOnPort(port)?.message);
      finish(request, sent ? statuses.sent : statuses.quiet);
    } catch (error) {
      port.postMessage({ kind: "failed", error: sendError(error) });
      finish(request, statuses.failed);
    }
  };
  let done = 0;
  const serve = (): void => {
    for (;;) {
      const request = Atomics.load(control, REQUEST);
      if (request !== done) {
        perform(request);
        done = request;
      } else if (Atomics.wait(control, REQUEST, done, idle) === "timed-out") {
        setImmediate(serve);
        return;
      }
    }
  };
  serve();
}

/** A source that knows what is wrong with it says so when it is asked to make something. */
async function makerOf(source: Source): Promise<(index: number) => Environment> {
  try {
    return await load(source);
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    return () => {
      throw error;
    };
  }
}

async function load(source: Source): Promise<(index: number) => Environment> {
  if (typeof source === "string") {
    const { makeEnvironment } = await import("../../environments/registry.ts");
    return () => makeEnvironment(source);
  }
  const loaded = (await import(source.module)) as Readonly<Record<string, unknown>>;
  // What CommonJS exports may stand under `default` only.
  const make =
    loaded[source.name] ?? (loaded.default as Readonly<Record<string, unknown>> | undefined)?.[source.name];
  if (typeof make === "function") return make as (index: number) => Environment;
  throw new EspalierError("ENVIRONMENT_UNKNOWN", `${source.module} exports no function "${source.name}"`, {
    fix: `export function ${source.name}() that makes an environment; it exports ${Object.keys(loaded).join(", ") || "nothing"}`,
  });
}
