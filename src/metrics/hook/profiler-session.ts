import { Session } from "node:inspector";

/** A CPU profile as V8 gives it: nodes of a call tree, and which of them each sample found. */
export type CpuProfile = object;

/** Who profiles in this process: one at a time, or each would measure the other. */
let busy: string | undefined;

/** A CPU profile that is being taken. */
export class ProfilerSession {
  readonly #session: Session;

  /** Begins one. Throws where another is under way, or where this Node cannot. */
  static async begin(who: string, interval: number): Promise<ProfilerSession> {
    if (busy !== undefined)
      throw new Error(`${busy} is taking a profile in this process, and two at once are none`);
    busy = who;
    try {
      const session = new Session();
      session.connect();
      const profiler = new ProfilerSession(session);
      await profiler.#post("Profiler.enable");
      await profiler.#post("Profiler.setSamplingInterval", { interval });
      await profiler.#post("Profiler.start");
      return profiler;
    } catch (cause) {
      busy = undefined;
      throw cause;
    }
  }

  private constructor(session: Session) {
    this.#session = session;
  }

  async end(): Promise<CpuProfile> {
    try {
      const { profile } = (await this.#post("Profiler.stop")) as { readonly profile: CpuProfile };
      return profile;
    } finally {
      this.#session.disconnect();
      busy = undefined;
    }
  }

  #post(method: string, parameters: object = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
    });
  }
}
