import { EspalierError, node, sendError } from "../../../core/index.ts";
import type { Environment } from "../../environments/environment.ts";
import { importFunction } from "../../environments/import-function.ts";
import { makeEnvironments } from "../make-environments.ts";
import { type Memory, sharedMemory, sizesOf } from "../memory.ts";
import { EnvironmentRows, hasEvents, noEvents, type RowEvents } from "../rows.ts";
import {
  CALLS,
  type Command,
  type Commands,
  CURRENT,
  DONE,
  IS_STEP,
  REQUEST,
  STATUS,
  statuses,
  type ThreadData,
  type ThreadMessage,
  type ThreadRequest,
  type ThreadSource,
} from "./protocol.ts";

/** Milliseconds that a thread waits without a turn of its event loop, in which timers of environments fire. */
const idle = 100;

/** The work of a thread of environments: makes them, then serves requests until the thread is ended. */
export async function runThread(data: ThreadData): Promise<void> {
  const { control, port, first } = data;
  printAtOnce();
  const finish = (request: number, status: number): void => {
    Atomics.store(control, STATUS, status);
    Atomics.store(control, DONE, request);
    Atomics.notify(control, DONE);
  };
  const answer = (request: number, message: ThreadMessage): void => {
    const quiet = Object.keys(message).length === 0;
    if (!quiet) port.postMessage(message);
    finish(request, quiet ? statuses.quiet : statuses.sent);
  };
  process.on("exit", () => {
    const request = Atomics.load(control, REQUEST);
    if (Atomics.load(control, DONE) !== request) finish(request, statuses.gone);
  });
  const onCall = (i: number): void => {
    Atomics.store(control, CURRENT, i);
    Atomics.add(control, CALLS, 1);
  };
  let load: (index: number) => Environment;
  try {
    load = await loadMaker(data.source);
  } catch (error) {
    answer(Atomics.load(control, REQUEST), { failed: sendError(error) });
    return;
  }
  const make = (index: number): Environment => {
    onCall(Math.max(index - first, 0));
    return load(index);
  };
  const events = noEvents();
  let message: ThreadMessage = {};
  const tell = (told: ThreadMessage): void => {
    message = told;
  };
  let commands: ThreadCommands | undefined;
  const perform = (request: number): void => {
    message = {};
    try {
      commands ??= commandsOf(data, { make, onCall, events, tell });
      if (Atomics.load(control, IS_STEP) === 1) commands.step(undefined);
      else
        obey(commands, (node.workerThreads.receiveMessageOnPort(port) as { message: ThreadRequest }).message);
    } catch (error) {
      message = { failed: sendError(error) };
    }
    answer(request, hasEvents(events) ? { ...message, events: taken(events) } : message);
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

/** Lets prints go out as they are made: the event loop, which would send them, seldom turns before the thread ends. */
function printAtOnce(): void {
  const pause = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const print = (file: number, bytes: Uint8Array): void => {
    for (let from = 0; from < bytes.length; )
      try {
        from += node.fs.writeSync(file, bytes, from);
      } catch (error) {
        // A pipe is full; in all other cases nobody reads.
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
        Atomics.wait(pause, 0, 0, 1);
      }
  };
  for (const [stream, file] of [
    [process.stdout, 1],
    [process.stderr, 2],
  ] as const)
    stream._writev = (chunks, done) => {
      for (const { chunk, encoding } of chunks)
        print(file, typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
      done();
    };
}

async function loadMaker(source: ThreadSource): Promise<(index: number) => Environment> {
  if (typeof source === "string") {
    const { makeEnvironment } = await import("../../environments/registry.ts");
    return () => makeEnvironment(source);
  }
  const { module, name } = source;
  const failed = (what: string, fix: string, cause?: unknown): EspalierError => {
    if (cause === undefined) return new EspalierError("ENVIRONMENT_UNKNOWN", `${module} ${what}`, { fix });
    return new EspalierError(
      "ENVIRONMENT_FAILED",
      `a thread of environments could not start: ${module} ${what}`,
      { fix, cause },
    );
  };
  return (await importFunction(module, name, failed)) as (index: number) => Environment;
}

/** The events since the last request, as they are sent. */
const taken = ({ restarts, infos, outOfBounds }: RowEvents): NonNullable<ThreadMessage["events"]> => ({
  restarts: restarts.splice(0).map(({ index, error }) => ({ index, error: sendError(error) })),
  infos: infos.splice(0),
  outOfBounds: outOfBounds.splice(0),
});

interface CommandOptions {
  readonly make: (index: number) => Environment;
  readonly onCall: (i: number) => void;
  readonly events: RowEvents;
  readonly tell: (message: ThreadMessage) => void;
}

type ThreadCommands = { readonly [C in Command]: (given: Commands[C]) => void };

const obey = <C extends Command>(commands: ThreadCommands, { command, given }: ThreadRequest<C>): void =>
  commands[command](given);

/** Makes the thread's environments, and gives what it does with them on request. */
function commandsOf(
  { first, count, policies, masked }: ThreadData,
  { make, onCall, events, tell }: CommandOptions,
): ThreadCommands {
  const { description, environments } = makeEnvironments(make, first, count, masked);
  let memory: Memory | undefined;
  let rows: EnvironmentRows | undefined;
  return {
    start: () => tell({ made: { description, names: environments.map(({ name }) => name) } }),
    attach: ({ buffer, masked }) => {
      // Whether there are masks is decided for all threads together.
      const own = { ...description, masked };
      memory = sharedMemory(sizesOf(own, count), buffer);
      const vector = { description: own, memory, first, policies };
      rows = new EnvironmentRows({ ...vector, environments, make, onCall, events });
    },
    begin: () => rows?.begin(),
    step: () => rows?.step((memory as Memory).actions),
    repeat: () => rows?.step((memory as Memory).actions, true),
    states: () => tell({ states: rows?.states() ?? [] }),
    restore: (states) => rows?.restore(states),
    close: () => {
      for (const environment of environments) environment.close?.();
    },
  };
}
