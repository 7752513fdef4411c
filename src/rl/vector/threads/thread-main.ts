import type { MessagePort } from "node:worker_threads";
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
  type StepInfo,
  statuses,
  type ThreadData,
  type ThreadMessage,
  type ThreadSource,
} from "./protocol.ts";

/** Milliseconds that a thread waits without a turn of its event loop, in which the environments' prints go out. */
const idle = 100;

/** The work of a thread of environments: makes them, then serves requests until the thread is ended. */
export async function runThread(data: ThreadData): Promise<void> {
  const { control, port, first, count, masked, policies } = data;
  const finish = (request: number, status: number): void => {
    Atomics.store(control, STATUS, status);
    Atomics.store(control, DONE, request);
    Atomics.notify(control, DONE);
  };
  const fail = (request: number, error: unknown): void => {
    port.postMessage({ kind: "failed", error: sendError(error) } satisfies ThreadMessage);
    finish(request, statuses.failed);
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
    fail(Atomics.load(control, REQUEST), error);
    return;
  }
  const make = (index: number): Environment => {
    onCall(Math.max(index - first, 0));
    return load(index);
  };
  let server: Server | undefined;
  const perform = (request: number): void => {
    try {
      server ??= new Server({
        ...makeEnvironments(make, first, count, masked),
        make,
        first,
        policies,
        onCall,
        port,
      });
      const sent = server.perform(
        Atomics.load(control, COMMAND),
        () => node.workerThreads.receiveMessageOnPort(port)?.message,
      );
      finish(request, sent ? statuses.sent : statuses.quiet);
    } catch (error) {
      fail(request, error);
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

interface ServerOptions {
  readonly description: Description;
  readonly environments: Environment[];
  readonly make: (index: number) => Environment;
  readonly first: number;
  readonly policies: Uint8Array;
  readonly onCall: (i: number) => void;
  readonly port: MessagePort;
}

/** Performs requests with the thread's environments. */
class Server {
  readonly #options: ServerOptions;
  #memory: Memory | undefined;
  #rows: EnvironmentRows | undefined;
  #sent = false;
  /** Of this step. */
  readonly #infos: StepInfo[] = [];

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** Performs a command; `received` returns its message. Returns true if messages were sent. */
  perform(command: number, received: () => unknown): boolean {
    const { description, environments } = this.#options;
    this.#sent = false;
    this.#infos.length = 0;
    switch (command) {
      case commands.step:
        this.#rows?.step((this.#memory as Memory).actions);
        if (this.#infos.length > 0) this.#send({ kind: "infos", infos: this.#infos.splice(0) });
        break;
      case commands.begin:
        this.#rows?.begin();
        break;
      case commands.start:
        this.#send({ kind: "made", description, names: environments.map(({ name }) => name) });
        break;
      case commands.attach:
        this.#attach(received() as Attach);
        break;
      case commands.states:
        this.#send({ kind: "states", states: this.#rows?.states() ?? [] });
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
    return this.#sent;
  }

  #attach({ buffer, masked }: Attach): void {
    const { environments, make, first, policies, onCall } = this.#options;
    // Whether there are masks is decided for all threads together.
    const description = { ...this.#options.description, masked };
    const memory = sharedMemory(sizesOf(description, environments.length), buffer);
    this.#memory = memory;
    this.#rows = new EnvironmentRows({
      description,
      memory,
      environments,
      make,
      first,
      policies,
      onCall,
      onRestart: (i, error) => this.#send({ kind: "restarted", i, error: sendError(error) }),
      onInfo: (i, info) => this.#infos.push({ i, info }),
      onOutOfBounds: (text) => this.#send({ kind: "outOfBounds", text }),
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

  #send(message: ThreadMessage): void {
    this.#sent = true;
    this.#options.port.postMessage(message);
  }
}
