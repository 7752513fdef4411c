import type { MessagePort } from "node:worker_threads";
import type { StateTree } from "../../../state/index.ts";
import type { Environment } from "../../environments/environment.ts";
import { type Description, sizesOf } from "../description.ts";
import { EnvironmentSet } from "../environment-set.ts";
import { type Memory, sharedMemory } from "../memory.ts";
import { EnvironmentRows } from "../rows.ts";
import { type Answer, type Attach, commands, type Informed, type Repeat } from "./protocol.ts";
import { sendError } from "./sent-error.ts";

interface WorkOptions {
  readonly make: (index: number) => Environment;
  readonly first: number;
  readonly policies: Uint8Array;
  readonly calls: (i: number) => void;
  readonly port: MessagePort;
}

/** What a thread does with its environments. */
export class ThreadWork {
  #description: Description;
  readonly #environments: Environment[];
  readonly #options: WorkOptions;
  #memory: Memory | undefined;
  #set: EnvironmentSet | undefined;
  #rows: EnvironmentRows | undefined;
  #sent = false;
  /** Of this step. */
  readonly #informed: Informed[] = [];

  constructor(
    made: { readonly description: Description; readonly environments: Environment[] },
    options: WorkOptions,
  ) {
    this.#description = made.description;
    this.#environments = made.environments;
    this.#options = options;
  }

  /** Does as it is told, with what has been sent along. Returns whether it sent something. */
  perform(command: number, received: () => unknown): boolean {
    this.#sent = false;
    this.#informed.length = 0;
    switch (command) {
      case commands.step:
        this.#rows?.step((this.#memory as Memory).actions);
        if (this.#informed.length > 0) this.#send({ kind: "informed", infos: this.#informed.splice(0) });
        break;
      case commands.begin:
        this.#rows?.begin();
        break;
      case commands.start:
        this.#send({
          kind: "made",
          description: this.#description,
          names: this.#environments.map(({ name }) => name),
        });
        break;
      case commands.attach:
        this.#attach(received() as Attach);
        break;
      case commands.states:
        this.#send({ kind: "states", states: this.#set?.states() ?? [] });
        break;
      case commands.restore:
        this.#set?.restore(received() as readonly StateTree[]);
        break;
      case commands.repeat:
        this.#repeat(received() as Repeat);
        break;
      case commands.close:
        for (const environment of this.#environments) environment.close?.();
    }
    return this.#sent;
  }

  #attach({ buffer, masked }: Attach): void {
    const { make, first, policies, calls } = this.#options;
    // Whether they have masks is the same for all threads.
    const description = { ...this.#description, masked };
    this.#description = description;
    const environments = this.#environments;
    const memory = sharedMemory(sizesOf(description, environments.length), buffer);
    const set = new EnvironmentSet({ memory, environments, make, first, calls });
    this.#memory = memory;
    this.#set = set;
    this.#rows = new EnvironmentRows({
      description,
      memory,
      environments: set,
      policies,
      restarted: (i, error) => this.#send({ kind: "restarted", i, error: sendError(error) }),
      informed: (i, info) => this.#informed.push({ i, info }),
      outside: (text) => this.#send({ kind: "outside", text }),
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

  #send(answer: Answer): void {
    this.#sent = true;
    this.#options.port.postMessage(answer);
  }
}
