import { isCheckpointHook } from "../../checkpoint/index.ts";
import {
  badOption,
  type Clock,
  didYouMean,
  EspalierError,
  errorText,
  messageOf,
  numberText,
  type Options,
  option,
  printable,
  resolveOptions,
  type Settings,
  systemClock,
} from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
import { defineSchedule } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import {
  evaluationScores,
  latestIntervention,
  latestPause,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { clockOption } from "../sinks/sink.ts";
import {
  actionText,
  ControlFiles,
  type ControlRecord,
  type ControlRequest,
  type ControlState,
  checkAction,
  hookName,
  isFixed,
  isRecord,
  type ReadRequest,
  replaces,
} from "./control.ts";
import { NewestWriter, replace } from "./heartbeat.ts";

// A request on its way:
//
//   timer            looks for files in control/requests, reads them, and has the schedule asked again       #look
//   onBatchEnd       the next batch is the last of its call; once all hooks of the event have run:           #apply
//     each request   done or refused, a line of the journal, an intervention in the stats store              #answer
//     paused         the same, until somebody lets the run go on or it is to end                             #wait
//
// Everything is applied at one kind of place, after the event onBatchEnd of a batch, so that a replay finds it by the
// number of batches. A checkpoint that was taken at this place holds how many records of it are in its state: what the
// journal has beyond that is applied again by the run that goes on from it.

const kind = "controlHook";
const table = {
  /** The run's directory: requests, state and journal are in its directory `control`. */
  directory: option.text({}),
  /** Does what these records say, each after its batch, and listens to nobody. See `controlJournal`. */
  replay: option.made<readonly ControlRecord[]>(
    'records of a journal: controlJournal("runs/mnist")',
    (value) => Array.isArray(value) && value.every(isRecord),
    {},
  ),
  /** Tells when requests were applied. Default: the trainer's. */
  clock: clockOption,
  /** Milliseconds from one look for requests to the next. Default: 250. */
  pollEvery: option.number({ min: 1, default: 250 }),
};

/** Options of {@link controlHook}. */
export interface ControlHookOptions extends Options<typeof table> {}

/**
 * Lets others steer a run through files of its directory: pause, resume, stop, checkpoint, evaluate, set a ramp, enable
 * and disable hooks. A request is applied after the batch that is under way, or the next; its answer is a line of
 * `control/journal.jsonl`, and an intervention in the stats store. Until there is one, the hook costs nothing but a look
 * into a directory every 250 ms.
 *
 * Ramps that were set and hooks that were disabled are part of the run's state. What was applied after the newest
 * checkpoint of a run that was killed is applied again at the same batch when it is resumed, unless it is told otherwise
 * before; a run that was paused goes on.
 *
 * @example
 * ```ts
 * const hooks = [checkpointHook({ directory: "runs/mnist" }), controlHook({ directory: "runs/mnist" })];
 * ```
 */
export function controlHook(options: ControlHookOptions): TrainerHook {
  const settings = resolveOptions(kind, options, table);
  if ((settings.directory === undefined) === (settings.replay === undefined))
    throw badOption(
      kind,
      settings.replay ? "both directory and replay are given" : "it is not said where requests come from",
      'give one of directory and replay: controlHook({ directory: "runs/mnist" })',
    );
  const control = new RunControl(settings);
  const edges: readonly TrainerHook[] = [
    {
      name: `${hookName}.start`,
      // After all others: hooks that are disabled have been set up, as in the process in which they were not yet.
      priority: Number.NEGATIVE_INFINITY,
      onTrainingStart: (context) => control.start(context),
    },
    { name: `${hookName}.end`, onTrainingEnd: (context) => control.end(context) },
  ];
  return {
    name: hookName,
    provides: [latestIntervention, latestPause],
    state: control.state,
    schedule: control.schedule,
    onRegister: (host) => control.register(host),
    onUnregister: () => control.close(),
    onBatchEnd: (context) => control.reached(context),
    children: edges,
  };
}

/** All that influences the future of the run. */
type ControlMemory = {
  /** The last batch at whose end something was to be applied, and how many records were. */
  at: number | null;
  count: number;
  /** Values that were set, with the factor that the ramp was scaled by then. */
  readonly ramps: Record<string, { readonly value: number; readonly factor: number }>;
  /** Hooks that were enabled or disabled. */
  readonly hooks: Record<string, boolean>;
};

const noMemory = (): ControlMemory => ({ at: null, count: 0, ramps: {}, hooks: {} });

/** Milliseconds between two writes of the state: while the run trains, and while it is paused. */
const freshFor = { running: 5000, paused: 1000 } as const;
/** Milliseconds between two signs of life of a run that is paused. */
const aliveFor = 30_000;

class RunControl {
  readonly #files: ControlFiles | undefined;
  readonly #settings: Settings<typeof table>;
  #clock: Clock = systemClock;
  #warn: (text: string) => void = () => undefined;
  #memory = noMemory();
  /** Requests that were read, in the order in which they are applied. */
  #waiting: ReadRequest[] = [];
  /** Records of the journal that the run has not come to yet. */
  #pending: readonly ControlRecord[] = [];
  /** Names of requests that have been read, and ids that have been answered. */
  #seen: ReadonlySet<string> = new Set();
  readonly #answered = new Set<string>();
  #paused = false;
  #context: TrainerContext | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #failed = false;
  readonly #writer: NewestWriter<() => ControlState>;
  #written = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings<typeof table>) {
    const { directory } = settings;
    this.#settings = settings;
    this.#files = directory === undefined ? undefined : new ControlFiles(directory);
    this.#writer = new NewestWriter(
      (state) => replace((this.#files as ControlFiles).state, state()),
      (cause) => this.#warn(`the state of control cannot be written: ${textOf(cause)}`),
    );
  }

  /** Due after the next batch where somebody asks for something, and after those that the journal names. */
  readonly schedule = defineSchedule({
    due: ({ counters }) => this.#waiting.length > 0 || this.#isNext(counters.batches),
    nextDue: ({ batches }) => {
      if (this.#waiting.length > 0) return [{ unit: "batches", at: batches + 1 }];
      return this.#pending.slice(0, 1).map(({ counters }) => ({ unit: "batches", at: counters.batches }));
    },
    describe: () => (this.#settings.replay ? "where the journal says so" : "when somebody asks"),
    units: ["batches"],
  });

  #isNext(batches: number): boolean {
    return (this.#pending[0]?.counters.batches ?? Number.POSITIVE_INFINITY) <= batches;
  }

  readonly state: Stateful = {
    // Runs from before there was this hook go on with it.
    optional: true,
    getState: () => {
      const { at, count, ramps, hooks } = this.#memory;
      // Where nothing was applied after this batch, nothing has to be told apart.
      const here = this.#context === undefined || at === this.#context.state.counters.batches;
      return structuredClone({ ...(here ? { at, count } : { at: null, count: 0 }), ramps, hooks });
    },
    setState: (state) => {
      this.#memory = { ...noMemory(), ...structuredClone(state as ControlMemory) };
    },
  };

  register(host: HookHost): void {
    this.#clock = this.#settings.clock ?? host.clock;
    this.#warn = (text) => host.warn(`${hookName}: ${text}`);
    this.#memory = noMemory();
    this.#context = undefined;
    this.#paused = false;
    this.#waiting = [];
    this.#seen = new Set();
    this.#answered.clear();
  }

  /** The run begins, or goes on from where it was restored. */
  async start(context: TrainerContext): Promise<void> {
    this.#context = context;
    const { interventions, counters } = context;
    const ramps = interventions.ramps();
    for (const [name, { value, factor }] of Object.entries(this.#memory.ramps))
      if (name in ramps) interventions.setRamp(name, value, factor);
      else this.#warn(`${name} was set to ${value}, and the task has no such ramp any more`);
    for (const [name, enabled] of Object.entries(this.#memory.hooks)) this.#switch(name, enabled);
    const records =
      this.#settings.replay?.toSorted((a, b) => a.counters.batches - b.counters.batches) ??
      this.#journal(counters.batches);
    const { at, count } = this.#memory;
    let here = 0;
    const isAhead = (record: ControlRecord): boolean => {
      const { batches } = record.counters;
      if (batches !== counters.batches) return batches > counters.batches;
      // Of those after this batch the first are in the state that was restored.
      return at !== batches || (record.outcome === "applied" && ++here > count);
    };
    this.#pending = records.filter(isAhead);
    // The event after which these were applied is over.
    if (at === counters.batches) await this.#again(context, { atStart: true });
    if (this.#files) this.#listen(this.#files);
    interventions.hooks.refresh();
    this.#tell();
  }

  #journal(batches: number): readonly ControlRecord[] {
    const files = this.#files as ControlFiles;
    files.begin();
    const records = files.records(this.#warn);
    const before = files.outcomeBefore();
    if (batches === 0 && records.length > 0 && (before === "completed" || before === "stopped")) {
      // Another run has been trained to its end in this directory: what it was told is not meant for this one.
      files.setAside(this.#clock.wall());
      return [];
    }
    for (const { request } of records) this.#answered.add(request.id);
    return records;
  }

  #listen(files: ControlFiles): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      void this.#look(files);
      if (!this.#paused && this.#clock.now() - this.#written > freshFor.running) this.#tell();
    }, this.#settings.pollEvery);
    this.#timer.unref();
  }

  /** Reads the requests that have come. One look at a time. */
  #look(files: ControlFiles): Promise<void> {
    this.#looking ??= this.#read(files)
      .catch((cause: unknown) => {
        if (!this.#failed) this.#warn(`requests cannot be read: ${textOf(cause)}; this is not said again`);
        this.#failed = true;
      })
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #read(files: ControlFiles): Promise<void> {
    const names = await files.waiting();
    const found = names.filter((name) => !this.#seen.has(name)).map((name) => files.read(name));
    this.#seen = new Set(names);
    for (const read of found)
      if (this.#answered.has(read.request.id)) this.#remove(read.file);
      else this.#waiting.push(read);
    if (found.length === 0) return;
    this.#waiting.sort(({ request: a }, { request: b }) => a.at - b.at || (a.id < b.id ? -1 : 1));
    this.#context?.interventions.hooks.refresh();
  }

  /** A batch has ended after which there is something to apply. */
  reached(context: TrainerContext): void {
    // Now: a checkpoint of this event may be taken before what follows.
    this.#comeTo(context.counters.batches);
    context.afterEvent(() => this.#apply(context));
  }

  #comeTo(batches: number): void {
    if (this.#memory.at !== batches) Object.assign(this.#memory, { at: batches, count: 0 });
  }

  async #apply(context: TrainerContext): Promise<void> {
    if (this.#isNext(context.counters.batches)) await this.#again(context);
    do {
      let hooksRan = false;
      for (const read of this.#waiting.splice(0)) hooksRan = (await this.#answer(read, context)) || hooksRan;
      if (!this.#paused || isToEnd(context)) break;
      if (hooksRan) {
        // What they have asked for at the end of the event comes first: a checkpoint of a run that is paused.
        context.afterEvent(() => this.#apply(context));
        return;
      }
      await context.interventions.standStill(() => this.#wait(context));
    } while (!isToEnd(context));
    if (this.#paused) this.#setPaused(false, context);
    context.interventions.hooks.refresh();
    this.#tell();
  }

  /** Waits, paused, until there is a request or the run is to end. */
  async #wait(context: TrainerContext): Promise<void> {
    let alive = this.#clock.now();
    this.#tell();
    while (this.#waiting.length === 0 && !isToEnd(context)) {
      // Not the timer of training, which does not keep the process alive.
      await new Promise((resolve) => setTimeout(resolve, this.#settings.pollEvery));
      if (this.#files) await this.#look(this.#files);
      const now = this.#clock.now();
      if (now - this.#written > freshFor.paused) this.#tell();
      if (now - alive <= aliveFor) continue;
      alive = now;
      context.slots.set(latestPause, { paused: true, counters: context.counters });
    }
  }

  /** Does what is asked, or refuses it, and tells. True where hooks were run. */
  async #answer({ file, request, problem }: ReadRequest, context: TrainerContext): Promise<boolean> {
    let outcome: ControlRecord["outcome"] = "applied";
    let message: string;
    try {
      if (problem !== undefined) throw new EspalierError("CONTROL_REFUSED", `this is no request: ${problem}`);
      message = await this.#act(request as ControlRequest, context);
      this.#memory.count++;
    } catch (error) {
      outcome = "refused";
      message = textOf(error);
    }
    this.#record(file, { request, outcome, message }, context);
    return outcome === "applied" && (request.action === "checkpoint" || request.action === "evaluate");
  }

  /** Files the answer to a request, and removes the request. */
  #record(
    file: string,
    answer: Pick<ControlRecord, "request" | "outcome" | "message">,
    context: TrainerContext,
  ): void {
    const { request, message, outcome } = answer;
    const record = { ...answer, counters: context.counters, wall: this.#clock.wall() };
    this.#pending = this.#pending.filter((each) => !replaces(record, each));
    try {
      this.#files?.append(record);
    } catch (cause) {
      this.#warn(
        `"${actionText(request)}" was ${outcome}, and the journal cannot be written: ${textOf(cause)}`,
      );
    }
    this.#answered.add(request.id);
    this.#remove(file);
    this.#file(record, context);
    this.#warn(
      `${printable(request.who)}: ${actionText(request)}: ${outcome === "applied" ? "" : "refused: "}${message}`,
    );
  }

  /** Tells the stats store. A record that is applied again is the same row. */
  #file({ request, outcome, message, counters, wall }: ControlRecord, { slots }: TrainerContext): void {
    slots.set(latestIntervention, {
      who: printable(request.who),
      what: actionText(request),
      reason: message,
      counters,
      wall,
      details: { outcome, request: request.id, asked: request.at },
    });
  }

  #remove(file: string): void {
    try {
      this.#files?.remove(file);
    } catch (cause) {
      this.#warn(`the request ${printable(file)} was answered, and cannot be removed: ${textOf(cause)}`);
    }
  }

  /** Does what a request asks for. Returns what was done; what cannot be done is an error. */
  async #act(request: ControlRequest, context: TrainerContext): Promise<string> {
    const { interventions, config } = context;
    if (config.ranks > 1 && request.action !== "stop")
      throw refusal(
        `the run trains on ${config.ranks} ranks`,
        "such a run can be told to stop, and nothing else",
      );
    switch (request.action) {
      case "pause":
        if (this.#paused) throw refusal("the run is paused");
        if (isToEnd(context)) throw refusal("the run ends");
        this.#setPaused(true, context);
        return "the run is paused";
      case "resume":
        if (!this.#paused) throw refusal("the run is not paused");
        this.#setPaused(false, context);
        return "the run goes on";
      case "stop":
        context.stop(stopReason(request));
        return "the run ends after this batch";
      case "checkpoint":
        return this.#run(
          "saved by",
          checkpointHooks(context),
          "add a checkpointHook to the run's hooks",
          context,
        );
      case "evaluate":
        return this.#run(
          "evaluated by",
          evaluationHooks(context),
          "add an evaluationHook, or another hook that provides evaluationScores",
          context,
        );
      case "set": {
        const before = interventions.ramps()[request.ramp];
        this.#setRamp(request.ramp, request.value, context);
        const now = interventions.ramps()[request.ramp];
        return `${printable(request.ramp)} is ${numberText(now?.value ?? 0)}, and was ${numberText(before?.value ?? 0)}`;
      }
      case "enable":
      case "disable": {
        const { hook } = request;
        const enabled = request.action === "enable";
        checkAction(request);
        if (!this.#switch(hook, enabled)) {
          const names = hookNames(context);
          throw refusal(
            `there is no hook "${printable(hook)}"${didYouMean(hook, names)}`,
            `the hooks are ${names.join(", ")}`,
          );
        }
        this.#memory.hooks[hook] = enabled;
        return `${hook} is ${enabled ? "enabled" : "disabled"}`;
      }
    }
  }

  async #run(
    did: string,
    names: readonly string[],
    fix: string,
    { interventions }: TrainerContext,
  ): Promise<string> {
    if (names.length === 0) throw refusal("the run has no hook that does it", fix);
    const ran: string[] = [];
    for (const name of names) if (await interventions.runHook(name)) ran.push(name);
    if (ran.length === 0) throw refusal(`${names.join(" and ")} cannot be run now`, "enable the hook first");
    return `${did} ${ran.join(" and ")}`;
  }

  #setRamp(ramp: string, value: number | null, { interventions }: TrainerContext): void {
    interventions.setRamp(ramp, value ?? undefined);
    const { ramps } = this.#memory;
    delete ramps[ramp];
    if (value !== null) ramps[ramp] = { value, factor: interventions.ramps()[ramp]?.factor ?? 1 };
  }

  /** False where there is no such hook. */
  #switch(name: string, enabled: boolean): boolean {
    const hooks = this.#context?.interventions.hooks;
    return (enabled ? hooks?.enable(name) : hooks?.disable(name)) ?? false;
  }

  #setPaused(paused: boolean, context: TrainerContext): void {
    this.#paused = paused;
    context.slots.set(latestPause, { paused, counters: context.counters });
  }

  /** Applies the records of the journal that the run has come to. */
  async #again(context: TrainerContext, { atStart = false } = {}): Promise<void> {
    const { batches } = context.counters;
    while (this.#isNext(batches)) {
      const [record, ...rest] = this.#pending as readonly [ControlRecord, ...ControlRecord[]];
      this.#pending = rest;
      if (record.outcome === "refused") continue;
      this.#memory.at = batches;
      this.#memory.count++;
      await this.#repeat(record.request, context, atStart);
      this.#file(record, context);
    }
  }

  async #repeat(request: ControlRecord["request"], context: TrainerContext, atStart: boolean): Promise<void> {
    const { action } = request;
    if (action === "stop") {
      // A run that went on afterwards goes on.
      if (!this.#pending.some(({ counters }) => counters.batches > context.counters.batches))
        context.stop(stopReason(request));
      return;
    }
    // A run that was paused goes on, and one that begins here has a checkpoint of here.
    if (action === "unreadable" || action === "pause" || action === "resume") return;
    if (action === "checkpoint" && (this.#settings.replay || atStart)) return;
    if (action === "set") return this.#setRamp(request.ramp, request.value, context);
    try {
      await this.#act(request, context);
    } catch (error) {
      this.#warn(`the journal says "${actionText(request)}": ${textOf(error)}`);
    }
  }

  /** Writes what the run is doing and what can be told to it. */
  #tell(outcome?: ControlState["outcome"]): Promise<void> {
    const context = this.#context;
    if (!this.#files || !context) return Promise.resolve();
    this.#written = this.#clock.now();
    return this.#writer.put(() => this.#stateOf(context, outcome));
  }

  #stateOf(context: TrainerContext, outcome: ControlState["outcome"]): ControlState {
    const { interventions, state } = context;
    const ramps = Object.entries(interventions.ramps());
    const { hooks } = interventions.hooks.plan();
    return {
      state: outcome ? "ended" : this.#paused ? "paused" : "running",
      ...(outcome && { outcome }),
      pid: process.pid,
      wall: this.#clock.wall(),
      counters: state.counters,
      ramps: Object.fromEntries(ramps.map(([name, { value, set = null }]) => [name, { value, set }])),
      hooks: Object.fromEntries(
        hooks.map(({ name, enabled }) => [name, { enabled, ...(isFixed(name) && { fixed: true }) }]),
      ),
      checkpoints: checkpointHooks(context),
      evaluations: evaluationHooks(context),
    };
  }

  /** The run has ended. Requests that nobody will answer are refused; one that may be resumed keeps them. */
  async end(context: TrainerContext): Promise<void> {
    const { outcome = "completed" } = context;
    this.close();
    if (this.#files && (outcome === "completed" || outcome === "stopped")) {
      await this.#look(this.#files);
      if (this.#waiting.length > 0) this.#comeTo(context.counters.batches);
      for (const { file, request } of this.#waiting.splice(0))
        this.#record(file, { request, outcome: "refused", message: "the run has ended" }, context);
    }
    await this.#tell(outcome);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** True where a signal, another hook or a failure ends the run: a pause ends with it. */
const isToEnd = ({ endAsked, signal }: TrainerContext): boolean => endAsked !== undefined || signal.aborted;

const stopReason = ({ who }: ControlRequest): string => `stopped by ${printable(who)}`;

const refusal = (what: string, fix?: string): EspalierError =>
  new EspalierError("CONTROL_REFUSED", what, fix === undefined ? {} : { fix });

/** An error as the answer to a request: what is wrong, and what to do. */
function textOf(error: unknown): string {
  if (!(error instanceof EspalierError)) return printable(messageOf(error), 500);
  return printable(error.fix === undefined ? errorText(error) : `${errorText(error)}: ${error.fix}`, 1000);
}

const checkpointHooks = (context: TrainerContext): readonly string[] => namesOf(context, isCheckpointHook);

const evaluationHooks = (context: TrainerContext): readonly string[] =>
  namesOf(context, ({ provides = [] }) => provides.some(({ name }) => name === evaluationScores.name));

/** The names of hooks of a kind, those of composites among them. */
function namesOf({ interventions }: TrainerContext, is: (hook: TrainerHook) => boolean): readonly string[] {
  const found = (hook: TrainerHook): readonly string[] => [
    ...(is(hook) ? [hook.name] : []),
    ...(hook.children ?? []).flatMap(found),
  ];
  return interventions.hooks.list().flatMap(found);
}

const hookNames = ({ interventions }: TrainerContext): readonly string[] =>
  interventions.hooks.plan().hooks.map(({ name }) => name);
