import { EspalierError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { type Description, sizesOf } from "../description.ts";
import { endedEnvironment, hangingEnvironment, type Place } from "../failure.ts";
import { type Memory, memoryBytes, sharedMemory } from "../memory.ts";
import type { Restart } from "../stepper.ts";
import { EnvironmentThread } from "./environment-thread.ts";
import type { commands, Informed, Source } from "./protocol.ts";
import { receiveError } from "./sent-error.ts";

export interface LinkOptions {
  readonly source: Source;
  readonly first: number;
  readonly count: number;
  /** Of these environments. */
  readonly policies: Uint8Array;
  /** In ms. */
  readonly timeout: number;
}

/** What came of a request. */
export interface Heard {
  readonly error?: EspalierError;
  /** Which of its environments the thread was lost in. */
  readonly lost?: number;
  readonly restarts?: readonly Restart[];
  /** Numbers of steps' info, by the environment's index in the vector. */
  readonly infos?: readonly Informed[];
  /** An observation beyond its bounds. */
  readonly outside?: string;
  readonly states?: readonly StateTree[];
  readonly made?: { readonly description: Description; readonly names: readonly string[] };
}

const fine: Heard = {};

/** Loading sources may take long on a busy machine, and nothing can be seen of it. */
const startLimit = 120_000;

/** A thread and the memory it shares with this one, until it is lost. */
export class Link {
  readonly #options: LinkOptions;
  readonly #thread: EnvironmentThread;
  #names: readonly string[] = [];
  #memory: Memory | undefined;
  #buffer = new SharedArrayBuffer(0);
  /** Why there is no thread any more. */
  #loss: EspalierError | undefined;

  /** It begins to make its environments. Whether they have masks is found out, unless it is known. */
  constructor(options: LinkOptions, masked?: boolean) {
    this.#options = options;
    const { source, first, count, policies } = options;
    this.#thread = new EnvironmentThread({ source, first, count, policies, masked });
  }

  /** Waits until the environments are made. */
  made(): Description {
    const { error, made } = this.listen("make", Math.max(startLimit, this.#options.timeout));
    if (error) {
      this.end();
      throw error;
    }
    this.#names = made?.names ?? [];
    return made?.description as Description;
  }

  /** Gives it memory. */
  attach(description: Description): void {
    const sizes = sizesOf(description, this.#options.count);
    this.#buffer = new SharedArrayBuffer(memoryBytes(sizes));
    this.#memory = sharedMemory(sizes, this.#buffer);
    this.ask("attach", "make", { buffer: this.#buffer, masked: description.masked });
  }

  get memory(): Memory {
    // Whoever uses a link has attached it.
    return this.#memory as Memory;
  }
  get buffer(): SharedArrayBuffer {
    return this.#buffer;
  }
  get lost(): boolean {
    return this.#loss !== undefined;
  }

  send(command: keyof typeof commands, message?: unknown): void {
    if (!this.#loss) this.#thread.send(command, message);
  }

  /** Asks, waits, and raises what went wrong. */
  ask(command: keyof typeof commands, during: Place["during"], message?: unknown): Heard {
    const heard = this.tryAsk(command, during, message);
    if (heard.error) throw heard.error;
    return heard;
  }

  tryAsk(command: keyof typeof commands, during: Place["during"], message?: unknown): Heard {
    this.send(command, message);
    return this.listen(during);
  }

  /** Waits until what was asked is done. A thread that hangs is ended, and from then on nothing is done. */
  listen(during: Place["during"], timeout = this.#options.timeout): Heard {
    if (this.#loss) return { error: this.#loss };
    const outcome = this.#thread.wait(timeout);
    if (outcome !== "done") {
      const lost = this.#thread.current;
      const place = this.place(lost, during === "step" && this.#begins(lost) ? "reset" : during);
      const error = outcome === "gone" ? endedEnvironment(place) : hangingEnvironment(place, timeout);
      this.end(error);
      return { lost, error };
    }
    const answers = this.#thread.answers();
    return answers.length === 0 ? fine : this.#heard(answers);
  }

  /** Whether an environment was to begin an episode instead of a step. */
  #begins(i: number): boolean {
    const { terminated, truncated } = this.memory;
    const row = i * (terminated.length / this.#options.count);
    return terminated[row] === 1 || truncated[row] === 1;
  }

  place(i: number, during: Place["during"]): Place {
    const step = this.#memory?.step[0] ?? 0;
    return { name: this.#names[i] ?? "an environment", index: this.#options.first + i, step, during };
  }

  end(why?: EspalierError): void {
    if (this.#loss) return;
    this.#loss = why ?? new EspalierError("ENVIRONMENT_CLOSED", "the thread of environments has been ended");
    this.#thread.end();
  }

  #heard(answers: ReturnType<EnvironmentThread["answers"]>): Heard {
    const restarts: Restart[] = [];
    let heard: Heard = { restarts };
    for (const answer of answers)
      if (answer.kind === "failed") heard = { ...heard, error: receiveError(answer.error) };
      else if (answer.kind === "restarted")
        restarts.push({ index: this.#options.first + answer.i, error: receiveError(answer.error) });
      else if (answer.kind === "informed")
        heard = {
          ...heard,
          infos: answer.infos.map(({ i, info }) => ({ i: this.#options.first + i, info })),
        };
      else if (answer.kind === "outside") heard = { ...heard, outside: answer.text };
      else if (answer.kind === "states") heard = { ...heard, states: answer.states };
      else heard = { ...heard, made: answer };
    return heard;
  }
}
