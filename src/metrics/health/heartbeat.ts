import { systemProcesses } from "../../checkpoint/index.ts";
import {
  badOption,
  checkOptions,
  EspalierError,
  makeDirectory,
  messageOf,
  node,
  type Options,
  option,
  outputPath,
  resolveOptions,
  systemClock,
} from "../../core/index.ts";
import { type Counters, every, type Schedule } from "../../schedule/index.ts";
import { latestPause, type PauseRecord, type TrainerContext, type TrainerHook } from "../../trainer/index.ts";
import { clockOption, scheduleOption } from "../sinks/sink.ts";
import type { HeartbeatRow, StatsStore } from "../store/stats-store.ts";

// How others know that a run is alive:
//
//   heartbeatHook, metricsHook   beat(counters, phase) every 30 seconds, at the start and at the end
//   heartbeat                    a small file that is replaced, a row in the stats store, or both
//   isAlive                      reads the newest beat: how old it is, how the run ended, whether the process is there

const places = {
  /** A small JSON file that is replaced at every beat. */
  file: option.text({}),
  /** Where every beat is filed as a row. */
  statsStore: option.object<Pick<StatsStore, "add" | "location">>("an opened stats store", ["add"], {}),
};

const heartbeatOptions = {
  ...places,
  /** The run's id. */
  run: option.text({ required: true }),
  clock: clockOption,
  /** Told once of a file and once of a store that fails. */
  warn: option.function<(text: string) => void>("a function of a text", {}),
};

/** Where heartbeats go. */
export interface HeartbeatOptions extends Options<typeof heartbeatOptions> {}

/** Tells others that a run is alive. */
export interface Heartbeat {
  /**
   * Says that the run is alive, and where it is. It resolves when that is written, which need not be waited for, and
   * never rejects. While one beat is being written, of the others only the newest is kept.
   */
  beat(counters: Counters, phase: string): Promise<void>;
  /** Waits for what is under way, five seconds at most. */
  close(): Promise<void>;
}

/** Milliseconds for which the end of a run waits for the last beat. */
const patience = 5000;

/**
 * Tells others that a run is alive: by a file that is always whole, by rows in the stats store, or both. What fails is
 * warned of once and stops nothing. {@link isAlive} reads it.
 *
 * @example
 * ```ts
 * const heart = heartbeat({ file: "runs/mnist/heartbeat.json", run: "mnist" });
 * await heart.beat(counters, "train");
 * ```
 */
export function heartbeat(options: HeartbeatOptions): Heartbeat {
  checkOptions("heartbeat", options, heartbeatOptions);
  checkPlaces("heartbeat", options);
  const { file, statsStore, run, clock = systemClock, warn = () => undefined } = options;
  const told = (where: string) => (cause: unknown) =>
    warn(`no heartbeat in ${where}: ${messageOf(cause)}; training goes on, and this is not said again`);
  const writers: NewestWriter<HeartbeatRow>[] = [];
  if (file !== undefined) writers.push(new NewestWriter((row) => replace(file, { run, ...row }), told(file)));
  if (statsStore)
    writers.push(
      new NewestWriter((row) => statsStore.add(run, "heartbeat", [row]), told(statsStore.location)),
    );
  const host = node.os.hostname();
  return {
    async beat({ steps }, phase) {
      const row = { wall: clock.wall(), step: steps, pid: process.pid, host, phase };
      await Promise.all(writers.map((writer) => writer.put(row)));
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patience);
      });
      await Promise.race([Promise.all(writers.map(({ idle }) => idle)), late]);
      clearTimeout(timer);
    },
  };
}

/** Refuses a heartbeat that goes nowhere. */
export function checkPlaces(kind: string, { file, statsStore }: Options<typeof places>): void {
  if (file === undefined && statsStore === undefined)
    throw badOption(kind, "it is not said where to", 'give file, statsStore or both: file: "heartbeat.json"');
}

/**
 * Writes the newest of what it is given, one at a time: what comes while one is being written takes the place of what
 * waited before. A failure is told once and then forgotten.
 */
export class NewestWriter<T> {
  readonly #write: (item: T) => unknown;
  readonly #failed: (cause: unknown) => void;
  #next: { readonly item: T } | undefined;
  #writing: Promise<void> | undefined;
  #told = false;

  constructor(write: (item: T) => unknown, failed: (cause: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** Resolves when nothing is left to write. Never rejects. */
  put(item: T): Promise<void> {
    this.#next = { item };
    this.#writing ??= this.#drain();
    return this.#writing;
  }

  get idle(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  async #drain(): Promise<void> {
    for (let next = this.#next; next; next = this.#next) {
      this.#next = undefined;
      try {
        await this.#write(next.item);
      } catch (cause) {
        if (!this.#told) this.#failed(cause);
        this.#told = true;
      }
    }
    // In the same turn in which nothing was found waiting, so that nothing is left behind.
    this.#writing = undefined;
  }
}

/** Replaces a file at once: a reader finds the old one or the new one, whole. */
export async function replace(file: string, content: object): Promise<void> {
  const { rename, writeFile } = node.fs.promises;
  const { dirname } = node.path;
  const beside = `${file}.${process.pid}.tmp`;
  makeDirectory(dirname(file));
  await writeFile(beside, `${JSON.stringify(content)}\n`);
  await rename(beside, file);
}

const hookOptions = {
  ...places,
  /** Default: `heartbeat`. */
  name: option.text({ default: "heartbeat" }),
  /** The run's id in the stats store. Default: the run's name. */
  run: option.text({}),
  /** How often. Default: every 30 seconds. */
  schedule: scheduleOption("every({ seconds: 30 })"),
};

/** Options of {@link heartbeatHook}. */
export interface HeartbeatHookOptions extends Options<typeof hookOptions> {}

/**
 * Beats while a run trains, for runs without a metrics hook, which does the same: at the start, on its schedule, and at
 * the end, when the phase is how the run ended. It looks at its schedule after each call of the task, so that it never
 * prevents fusing; a call that takes longer beats when it is done. Training never waits for it, but for the last beat.
 *
 * @example
 * ```ts
 * const hooks = [heartbeatHook({ file: "runs/mnist/heartbeat.json" })];
 * ```
 */
export function heartbeatHook(options: HeartbeatHookOptions): TrainerHook {
  const settings = resolveOptions("heartbeatHook", options, hookOptions);
  checkPlaces("heartbeatHook", settings);
  const { name, schedule, statsStore, run } = settings;
  const file = settings.file && outputPath(settings.file);
  const { hook, beat, end } = beating(name, schedule, ({ state, clock }, warn) =>
    heartbeat({ file, statsStore, run: run ?? state.run, clock, warn }),
  );
  const edges: TrainerHook = { name: `${name}.edges`, onTrainingStart: beat, onTrainingEnd: end };
  return { ...hook, children: [edges] };
}

/** A hook that beats on a schedule and where the run is paused; and the beats of its start and its end. */
export function beating(
  name: string,
  schedule: Schedule | undefined,
  begin: (context: TrainerContext, warn: (text: string) => void) => Heartbeat | undefined,
): { readonly hook: TrainerHook; beat(context: TrainerContext): void; end(): Promise<void> } {
  let warn: (text: string) => void = () => undefined;
  let heart: Heartbeat | undefined;
  /** The context of a run that has not ended. */
  let running: TrainerContext | undefined;
  const beat = (context: TrainerContext): void => {
    running = context;
    heart ??= begin(context, (text) => warn(text));
    void heart?.beat(context.counters, context.outcome ?? context.state.phase);
  };
  const end = async (): Promise<void> => {
    if (running) beat(running);
    running = undefined;
    await heart?.close();
  };
  const hook: TrainerHook = {
    name,
    schedule: schedule ?? every({ seconds: 30 }),
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      heart = undefined;
      running = undefined;
      host.observe({
        provided: (slot, value) => {
          if (slot.name !== latestPause.name) return;
          const { paused, counters } = value as PauseRecord;
          void heart?.beat(counters, paused ? "paused" : (running?.state.phase ?? "train"));
        },
      });
    },
    // Handling these events does not keep batches from being fused.
    onBatchesEnd: beat,
    onValidationStart: beat,
    onValidationEnd: beat,
    // Where another hook has kept it from hearing of the end.
    onUnregister: end,
  };
  return { hook, beat, end };
}

/** Options of {@link isAlive}. */
export interface AliveOptions {
  /** Milliseconds since 1970. Default: now. */
  readonly now?: number;
  /** Seconds since the last beat after which a run counts as dead. Default: 120, four beats of the hook's default. */
  readonly patience?: number;
}

/** Phases of a last beat. */
const ended: readonly string[] = ["completed", "stopped", "interrupted", "failed"];

/**
 * True for a run that is alive, by its newest heartbeat: a row of the stats store, or the path of a heartbeat file. Not alive
 * is one without a heartbeat, one that has ended, one whose last beat is too long ago, and one of this machine whose
 * process is gone.
 *
 * @example
 * ```ts
 * if (!isAlive("runs/mnist/heartbeat.json", { patience: 300 })) restart();
 * ```
 */
export function isAlive(
  heartbeat: HeartbeatRow | string | undefined,
  { now = Date.now(), patience = 120 }: AliveOptions = {},
): boolean {
  const row = typeof heartbeat === "string" ? readHeartbeat(heartbeat) : heartbeat;
  if (!row || ended.includes(row.phase)) return false;
  if (now - row.wall > patience * 1000) return false;
  return systemProcesses().isRunning({ pid: row.pid, host: row.host, start: null }) !== false;
}

/**
 * Reads a heartbeat file; undefined where there is none.
 *
 * @example
 * ```ts
 * const { step, phase } = readHeartbeat("runs/mnist/heartbeat.json") ?? { step: 0, phase: "never begun" };
 * ```
 */
export function readHeartbeat(file: string): HeartbeatRow | undefined {
  try {
    const text = node.fs.readFileSync(file, "utf8");
    const row = JSON.parse(text) as Partial<HeartbeatRow> | null;
    if (typeof row?.wall === "number" && typeof row.pid === "number" && typeof row.phase === "string")
      return row as HeartbeatRow;
    throw new TypeError("wall, pid or phase is missing");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new EspalierError("HEARTBEAT_INVALID", `${file} is not a heartbeat`, {
      fix: "give the file that heartbeatHook or metricsHook was told to write",
      cause,
    });
  }
}
