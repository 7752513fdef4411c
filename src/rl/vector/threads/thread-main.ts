import { EspalierError, messageOf, node, sendError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { Environment } from "../../environments/environment.ts";
import { type Description, makeEnvironments } from "../make-environments.ts";
import { type Memory, sharedMemory, sizesOf } from "../memory.ts";
import { EnvironmentRows } from "../rows.ts";
import {
  type Attach,
  CALLS,
  COMMAND,
  CURRENT,
  commands,
  DONE,
  REQUEST,
  type Repeat,
  STATUS,
  statuses,
  type ThreadData,
  type ThreadMessage,
  type ThreadSource,
} from "./protocol.ts";

/** Milliseconds that a thread waits without a turn of its event loop, in which the environments' prints go out. */
const idle = 100;

/** The work of a thread of environments: makes them, then serves requests until the thread is ended. */
export async function runThread(data: ThreadData): Promise<void> {
  const { control, port, first } = data;
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
  let server: Server | undefined;
  const perform = (request: number): void => {
    const message: ThreadMessage = {};
    try {
      server ??= new Server(data, make, onCall);
      server.perform(Atomics.load(control, COMMAND), message);
      answer(request, message);
    } catch (error) {
      const { restarted, outOfBounds } = message;
      answer(request, {
        ...(restarted && { restarted }),
        ...(outOfBounds !== undefined && { outOfBounds }),
        failed: sendError(error),
      });
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

async function loadMaker(source: ThreadSource): Promise<(index: number) => Environment> {
  if (typeof source === "string") {
    const { makeEnvironment } = await import("../../environments/registry.ts");
    return () => makeEnvironment(source);
  }
  const { module, name } = source;
  let exports: Readonly<Record<string, unknown>>;
  try {
    exports = (await import(module)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const why = messageOf(cause);
    throw new EspalierError("ENVIRONMENT_FAILED", `a thread of environments could not start: ${why}`, {
      fix: "make sure that this Node can load the module and all that it imports",
      cause,
    });
  }
  // CommonJS exports may be found under `default` only.
  const make = exports[name] ?? (exports.default as Readonly<Record<string, unknown>> | undefined)?.[name];
  if (typeof make === "function") return make as (index: number) => Environment;
  throw new EspalierError("ENVIRONMENT_UNKNOWN", `${module} exports no function "${name}"`, {
    fix: `export function ${name}() that makes an environment; it exports ${Object.keys(exports).join(", ") || "nothing"}`,
  });
}

/** Performs requests with the thread's environments. */
class Server {
  readonly #data: ThreadData;
  readonly #make: (index: number) => Environment;
  readonly #onCall: (i: number) => void;
  readonly #description: Description;
  readonly #environments: Environment[];
  #memory: Memory | undefined;
  #rows: EnvironmentRows | undefined;
  /** About the request that is performed. */
  #message: ThreadMessage = {};

  constructor(data: ThreadData, make: (index: number) => Environment, onCall: (i: number) => void) {
    this.#data = data;
    this.#make = make;
    this.#onCall = onCall;
    const { description, environments } = makeEnvironments(make, data.first, data.count, data.masked);
    this.#description = description;
    this.#environments = environments;
  }

  /** Performs a command and fills its message. */
  perform(command: number, message: ThreadMessage): void {
    const environments = this.#environments;
    const received = (): unknown => node.workerThreads.receiveMessageOnPort(this.#data.port)?.message;
    this.#message = message;
    switch (command) {
      case commands.step:
        this.#rows?.step((this.#memory as Memory).actions);
        break;
      case commands.begin:
        this.#rows?.begin();
        break;
      case commands.start:
        message.made = { description: this.#description, names: environments.map(({ name }) => name) };
        break;
      case commands.attach:
        this.#attach(received() as Attach);
        break;
      case commands.states:
        message.states = this.#rows?.states() ?? [];
        break;
      case commands.restore:
        this.#rows?.restore(received() as readonly StateTree[]);
        break;
      case commands.repeat:
        this.#repeat(received() as Repeat);
        break;
      case commands.close:
        for (const environment of environments) environment.close?.();
    }
  }

  #attach({ buffer, masked }: Attach): void {
    // Whether there are masks is decided for all threads together.
    const description = { ...this.#description, masked };
    const memory = sharedMemory(sizesOf(description, this.#environments.length), buffer);
    this.#memory = memory;
    this.#rows = new EnvironmentRows({
      description,
      memory,
      environments: this.#environments,
      make: this.#make,
      first: this.#data.first,
      policies: this.#data.policies,
      onCall: this.#onCall,
      onRestart: (i, error) => {
        this.#message.restarted ??= [];
        this.#message.restarted.push({ i, error: sendError(error) });
      },
      onInfo: (i, info) => {
        this.#message.infos ??= [];
        this.#message.infos.push({ i, info });
      },
      onOutOfBounds: (text) => {
        this.#message.outOfBounds = text;
      },
    });
  }

  #repeat({ steps, actions, nextLessons }: Repeat): void {
    const memory = this.#memory as Memory;
    const [rows, lessons] = [memory.actions.length, memory.nextLessons.length];
    for (let k = 0; k < steps; k++) {
      memory.nextLessons.set(nextLessons.subarray(k * lessons, (k + 1) * lessons));
      this.#rows?.step(actions.subarray(k * rows, (k + 1) * rows), true);
    }
  }
}
