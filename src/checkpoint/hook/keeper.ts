import { EspalierError, node } from "../../core/index.ts";
import type { HookHost, SlotAccess } from "../../hooks/index.ts";
import { type Counters, isSameWork, timeless } from "../../schedule/index.ts";
import { type Stateful, type StateTree, sameState } from "../../state/index.ts";
import {
  evaluationScores,
  latestCheckpoint,
  latestMetrics,
  type TrainerContext,
} from "../../trainer/index.ts";
import type { CheckpointManager } from "../manager.ts";
import { RankMeeting } from "../ranks/meeting.ts";
import { defaultPatience } from "../ranks/ranked-store.ts";
import type { CheckpointMetadata } from "../save.ts";
import { type Snapshot, snapshotOf } from "../snapshot.ts";
import { isOnS3 } from "../store/address.ts";
import { nodeFileSystem } from "../store/file-system.ts";
import { systemProcesses } from "../store/lock.ts";
import type { CheckpointSettings, PublicationSettings } from "./checkpoint-hook.ts";
import { compileOptionsOf } from "./open-checkpoint.ts";
import { isPublishing, publish } from "./publish.ts";
import { openManager, restoreRun } from "./start-run.ts";

/** Saves a run: at the hook's times, and at its end what has come since. One checkpoint is written at a time. */
export class CheckpointKeeper {
  readonly marks: PublishMarks;
  readonly #settings: CheckpointSettings;
  #warn: (text: string) => void = () => undefined;
  #manager: Promise<CheckpointManager> | undefined;
  /** The write under way. Never rejects. */
  #writing: Promise<unknown> | undefined;
  /** The trainer's state in the newest checkpoint, or where the run began. */
  #saved: StateTree | undefined;
  #published: { readonly uri: string; readonly counters: TrainerContext["counters"] } | undefined;
  /** Has ranks end at the same place; undefined for one rank. */
  #meeting: RankMeeting | undefined;
  /** True once a failure has ended saving. */
  #off = false;
  /** Runs that were refused beside another, and that have not ended. */
  #refused = 0;

  constructor(settings: CheckpointSettings) {
    this.#settings = settings;
    this.marks = new PublishMarks(settings.publish);
  }

  /** A run begins; the one before, if there was one, is over. */
  begin({ warn }: HookHost): void {
    this.#warn = warn;
    this.#saved = undefined;
    this.#published = undefined;
    this.#off = false;
    this.marks.clear();
  }

  /** Locks the store, and restores where that is asked for. */
  async start(context: TrainerContext): Promise<void> {
    if (isSavedElsewhere(context)) return;
    if (this.#manager) {
      this.#refused++;
      throw new EspalierError("HOOK_IN_USE", `the hook "${this.#settings.name}" saves another run now`, {
        fix: "give each trainer a checkpoint hook of its own; one after the other may have the same",
      });
    }
    const manager = await this.#opened(context);
    const restored = await restoreRun(this.#settings, manager, context, this.#warn);
    if (restored) {
      const { path, counters } = restored;
      context.slots.set(latestCheckpoint, { path, uri: null, counters });
    }
    this.#saved = await context.components.trainer?.getState();
    this.#meet(context);
    // Programs that freezing needs are compiled now, not in the middle of training.
    await context.snapshot();
  }

  /** Freezes the run once all hooks of this event have run, and writes it while training goes on. */
  save(context: TrainerContext): void {
    if (this.#off || isSavedElsewhere(context)) return;
    // Before any hook freezes the run: a run that resumes from this event goes on after it.
    const due = this.marks.take(context.counters);
    context.afterEvent(async () => {
      const write = await this.#freeze(context, due);
      if (write) context.inBackground(write());
    });
  }

  /**
   * Saves what is newer than the last checkpoint, and waits for it. Not after a failure: what failed may have left
   * components at different steps, and the last checkpoint is whole.
   */
  async end(context: TrainerContext): Promise<void> {
    const { outcome, config, reason } = context;
    if (this.#off || outcome === "failed" || isSavedElsewhere(context)) return;
    if (
      config.ranks > 1 &&
      !context.sharesState &&
      outcome !== "completed" &&
      (!this.#meeting || this.#meeting.failure)
    ) {
      const why =
        this.#meeting?.failure ??
        (this.#settings.primary
          ? "ranks agree on where they end through a directory, and a store on S3 has none"
          : "only the primary checkpoint hook saves the end of several ranks");
      this.#warn(
        `no last checkpoint was saved after "${reason}": ${why}. The run goes on from the newest that there is.`,
      );
      return;
    }
    const now = await context.components.trainer?.getState();
    if (this.#saved !== undefined && now !== undefined && (await sameState(this.#saved, now))) return;
    const due = this.marks.take(context.counters);
    context.afterEvent(async () => {
      const write = await this.#freeze(context, due);
      await write?.();
    });
  }

  /** Waits for what is being written and unlocks the store. */
  async close(): Promise<void> {
    if (this.#refused > 0) {
      this.#refused--;
      return;
    }
    await this.#writing;
    await this.#meeting?.close();
    this.#meeting = undefined;
    const manager = this.#manager;
    this.#manager = undefined;
    await (await manager?.catch(() => undefined))?.close();
  }

  /** Freezes the run as it is now, when the write before is done. Gives the function that writes it. */
  async #freeze(
    context: TrainerContext,
    due: readonly PublicationSettings[],
  ): Promise<(() => Promise<void>) | undefined> {
    await this.#writing;
    if (this.#off) return undefined;
    const manager = await this.#opened(context);
    const { components } = await context.snapshot();
    const frozen = snapshotOf(components);
    const metadata = metadataOf(context, components.trainer, this.#settings.metadata);
    const { slots } = context;
    this.#saved = components.trainer;
    return () => {
      const writing = this.#write(manager, frozen, metadata, due, slots);
      this.#writing = writing.catch(() => undefined);
      return writing;
    };
  }

  async #write(
    manager: CheckpointManager,
    frozen: Snapshot,
    metadata: () => Promise<CheckpointMetadata>,
    due: readonly PublicationSettings[],
    slots: SlotAccess,
  ): Promise<void> {
    try {
      const { name, path, manifest } = await manager.write(frozen, await metadata());
      const { counters } = manifest;
      const tell = (uri: string | null): void => {
        if (uri !== null) this.#published = { uri, counters };
        const published = this.#published && { published: this.#published };
        const use = (): (() => void) => manager.use(name);
        if (this.#settings.primary) slots.set(latestCheckpoint, { path, uri, counters, ...published, use });
      };
      tell(null);
      for (const { to } of due) tell(await publish(manager, name, to));
    } catch (error) {
      // It is still to be saved at the end.
      if (!isPublishing(error)) this.#saved = undefined;
      this.#off = this.#settings.onFailure !== "warn";
      throw error;
    } finally {
      frozen.release();
    }
  }

  /** Has ranks end at the same place, where they can save what has come since the last checkpoint. */
  #meet(context: TrainerContext): void {
    const { directory, primary, patience = defaultPatience } = this.#settings;
    const { rank, ranks } = context.config;
    if (ranks === 1 || context.sharesState || !primary || directory === undefined || isOnS3(directory))
      return;
    const machine = { fs: nodeFileSystem, processes: systemProcesses() };
    const root = node.path.resolve(directory);
    const meeting = new RankMeeting({ ...machine, root, rank, ranks, patience, warn: this.#warn });
    this.#meeting = meeting;
    meeting.watch(context.endTogether((here, why) => meeting.agree(here, why)));
  }

  #opened(context: TrainerContext): Promise<CheckpointManager> {
    this.#manager ??= openManager(this.#settings, context, this.#warn);
    return this.#manager;
  }
}

/** True where the main rank saves for this one. */
const isSavedElsewhere = ({ sharesState, rank }: TrainerContext): boolean => sharesState && rank > 0;

/**
 * The metadata of a checkpoint of this moment. Its metrics are the newest of batches and rollouts, and those that hooks
 * logged as far as the logger has them. Scores, of evaluation and of validation (`validation.loss`), are saved only with
 * the state they were measured on: the best checkpoint is the one that was measured.
 */
function metadataOf(
  context: TrainerContext,
  trainer: StateTree | undefined,
  given: CheckpointSettings["metadata"],
): () => Promise<CheckpointMetadata> {
  const { counters, state, slots, settings, config, about } = context;
  const { earlierModel } = context.interventions;
  const evaluated = slots.get(evaluationScores);
  const gathered = slots.get(latestMetrics)?.metrics;
  const validatedAt = (trainer as { readonly since?: Readonly<Record<string, Counters>> } | undefined)?.since
    ?.onValidationEnd;
  const scores = {
    ...(evaluated && !earlierModel && isSameWork(evaluated.counters, counters) && evaluated.scores),
    ...(validatedAt && isSameWork(validatedAt, counters) && prefixed(state.validation ?? {})),
  };
  const metadata = typeof given === "function" ? given(context) : given;
  return async () => ({
    counters,
    scores,
    metrics: { ...gathered, ...(await state.metrics()) },
    config: settings,
    compileOptions: compileOptionsOf(config),
    ...(about && { about }),
    ...(metadata !== undefined && { metadata }),
  });
}

const prefixed = (metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`validation.${name}`, value]));

/**
 * Remembers which checkpoints have been looked at for publishing, so that a resumed run publishes none twice and skips
 * none: the counters at the last save, and the states of schedules. Seconds are left out: no two runs share them.
 */
class PublishMarks implements Stateful {
  readonly #publications: readonly PublicationSettings[];
  #saved: Counters | undefined;

  constructor(publications: readonly PublicationSettings[]) {
    this.#publications = publications;
  }

  /** The publications that are due for a checkpoint at these counters, which counts as the last from now on. */
  take(counters: Counters): readonly PublicationSettings[] {
    const since = this.#saved ?? nothingDone(counters);
    this.#saved = counters;
    return this.#publications.filter(({ schedule }) => schedule.due({ counters, since }));
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.#saved = undefined;
  }

  async getState(): Promise<StateTree> {
    const states = this.#publications.map(({ schedule }) => schedule.state?.getState() ?? null);
    return {
      saved: this.#saved ? timeless(this.#saved) : null,
      schedules: await Promise.all(states),
    } as StateTree;
  }

  async setState(state: StateTree): Promise<void> {
    const { saved, schedules } = (state ?? {}) as { saved?: object | null; schedules?: readonly StateTree[] };
    if (saved === undefined || schedules?.length !== this.#publications.length)
      throw new EspalierError("STATE_INVALID", "this is not a state of these publications", {
        fix: "resume with the same `publish` as before",
      });
    this.#saved = saved === null ? undefined : ({ ...saved, seconds: 0 } as Counters);
    for (const [i, { schedule }] of this.#publications.entries())
      await schedule.state?.setState(schedules[i] as StateTree);
  }
}

const nothingDone = (counters: Counters): Counters =>
  Object.fromEntries(Object.keys(counters).map((name) => [name, 0])) as Counters;
