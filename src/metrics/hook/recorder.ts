import { EspalierError } from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import type { Logger } from "../logger/index.ts";
import type { MetricsPlan } from "./options.ts";
import { newRunId } from "./run-id.ts";
import { RunRecord } from "./run-record.ts";
import { StorePart } from "./store-part.ts";

type Plain = { readonly [name: string]: StateTree };

/** The logger and the stats store of a run, from its set-up to its end. One run at a time. */
export class MetricsRecorder {
  /** The run that trains. */
  run: RunRecord | undefined;
  #store: StorePart | undefined;
  readonly #plan: MetricsPlan;
  #host: HookHost | undefined;
  #logger: Logger | undefined;
  #closed: Logger | undefined;
  #id: string | undefined;

  constructor(plan: MetricsPlan) {
    this.#plan = plan;
  }

  /** A run is set up; the one before, if there was one, is over. */
  begin(host: HookHost): void {
    const { makeLogger, statsStore } = this.#plan;
    const logger = makeLogger();
    if (logger === this.#closed)
      throw new EspalierError("LOGGER_CLOSED", "its logger was closed with the run before", {
        fix: "let it make one for each run: metricsHook({ logger: () => new Logger({ ... }) })",
      });
    this.#host = host;
    this.#logger = logger;
    this.#id = undefined;
    this.run = undefined;
    this.#store = statsStore && new StorePart(statsStore, host.clock);
    this.#store?.joinTo(logger);
  }

  /** It begins to train, or goes on: where that is has been restored. */
  start(context: TrainerContext): void {
    const { name, run } = this.#plan;
    const { clock, counters, settings, state } = context;
    // Both set when the hook was registered.
    const [logger, host, store] = [this.#logger as Logger, this.#host as HookHost, this.#store];
    // Not before: on ranks that are not the main one nothing is logged.
    host.installLogger(logger);
    const runName = run.name ?? state.run;
    const id = run.id ?? this.#id ?? newRunId(runName, clock.wall());
    this.#id = id;
    logger.open({
      ...{ id, name: runName, startedAt: clock.wall(), config: settings },
      ...(hasBegun(counters) && { resumedAt: counters }),
    });
    const warn = (text: string): void => host.warn(`${name}: ${text}`);
    const record = new RunRecord({ plan: this.#plan, logger, store, id, warn, context });
    this.run = record;
    host.observe({
      provided: (slot, value) => record.provided(slot, value),
      ...(store && {
        decided: (decision) => store.decisions.note(decision),
        switched: (hook, enabled) => store.intervened(context, hook, enabled ? "enabled" : "disabled"),
      }),
    });
  }

  /** However the run ended: everything is written out. Where it never began, as on other ranks, there is nothing. */
  async end(): Promise<void> {
    const { run } = this;
    if (!run || this.#logger === this.#closed) return;
    this.#closed = this.#logger;
    await run.end();
  }

  /** What every run with these bits has at this step: windows that are open. */
  readonly state: Stateful = {
    getState: () => withLogger({}, this.#logger?.getState()),
    setState: (state) => this.#logger?.setState(statesIn(state).logger),
  };

  /** What no two runs share: the id, open windows of times, decisions that are not filed. */
  readonly time: Stateful = {
    getState: () => {
      const decisions = this.#store?.decisions.getState() ?? null;
      return withLogger({ id: this.#id ?? null, decisions }, this.#logger?.time.getState());
    },
    setState: async (state) => {
      const { logger, id, decisions = null } = statesIn(state);
      this.#id = typeof id === "string" ? id : undefined;
      if (decisions !== null) this.#store?.decisions.setState(decisions);
      await this.#logger?.time.setState(logger);
    },
  };
}

function withLogger(
  own: Plain,
  logger: StateTree | Promise<StateTree> | undefined = null,
): StateTree | Promise<StateTree> {
  if (logger instanceof Promise) return logger.then((settled) => ({ ...own, logger: settled }));
  return { ...own, logger };
}

function statesIn(state: StateTree): Plain & { readonly logger: StateTree } {
  const { logger } = (state ?? {}) as Plain;
  if (logger !== undefined && logger !== null) return state as Plain & { readonly logger: StateTree };
  throw new EspalierError("STATE_INVALID", "this is not the state of a metrics hook", {
    fix: "restore what the same component of a run with a metrics hook gave",
  });
}

const hasBegun = (counters: Counters): boolean =>
  Object.entries(counters).some(([unit, count]) => unit !== "seconds" && count > 0);
