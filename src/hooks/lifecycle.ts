import { failure } from "./failure.ts";
import type { HookHost, UnregisterReason } from "./hook.ts";
import { family, type Registration } from "./registration.ts";
import { Work } from "./work.ts";

/** Sets hooks up and cleans them up, each once. */
export class Lifecycle {
  readonly #host: HookHost;
  /** Told of what failed and could not be raised at once. */
  readonly #failed: (failure: unknown) => void;
  readonly #setUps = new Work();
  readonly #cleanUps = new Work();
  #held = 0;
  /** Clean-ups that wait for the event under way to end. */
  readonly #leaving: (() => void)[] = [];

  constructor(host: HookHost, failed: (failure: unknown) => void) {
    this.#host = host;
    this.#failed = failed;
  }

  /** Set-ups that have not finished. No event runs before they have. */
  get settingUp(): Promise<void> | undefined {
    return this.#setUps.done;
  }

  /** Undoes what it did where one of a family cannot be set up. */
  setUp(registration: Registration): void {
    for (const each of family(registration.hook))
      try {
        this.#setUps.add(each.onRegister?.(this.#host), (cause) =>
          this.#failed(failure(each, "onRegister", cause)),
        );
        registration.ready.push(each);
      } catch (cause) {
        this.cleanUp(registration, "unregistered");
        throw failure(each, "onRegister", cause);
      }
  }

  /** All of them, whatever fails; the first failure is raised here, what comes later is told. */
  cleanUpNow(all: readonly Registration[], reason: UnregisterReason): void {
    const failures: unknown[] = [];
    let now = true;
    for (const each of all)
      this.cleanUp(each, reason, (failed) => (now ? void failures.push(failed) : this.#failed(failed)));
    now = false;
    for (const failed of failures.slice(1)) this.#failed(failed);
    if (failures.length > 0) throw failures[0];
  }

  /** When the event under way has ended, and the hook's own call in the background. */
  cleanUp({ ready, entries }: Registration, reason: UnregisterReason, failed = this.#failed): void {
    const all = ready.splice(0).reverse();
    const clean = (): void => {
      for (const each of all) {
        const told = (cause: unknown): void => failed(failure(each, "onUnregister", cause));
        try {
          this.#cleanUps.add(each.onUnregister?.(reason), told);
        } catch (cause) {
          told(cause);
        }
      }
    };
    const leave = (): void => {
      const running = entries.flatMap(({ inFlight }) => inFlight ?? []);
      if (running.length === 0) clean();
      else this.#cleanUps.add(Promise.all(running).then(clean), failed);
    };
    if (this.#held > 0) this.#leaving.push(leave);
    else leave();
  }

  /** While an event runs, nothing is cleaned up that it may still call. */
  hold(): void {
    this.#held++;
  }

  release(): void {
    this.#held--;
    if (this.#held === 0 && this.#leaving.length > 0) for (const leave of this.#leaving.splice(0)) leave();
  }

  /** Waits for set-ups and clean-ups. */
  async settle(): Promise<void> {
    await this.#setUps.settle();
    await this.#cleanUps.settle();
  }
}
