import { resolve } from "node:path";
import type { HookHost, SlotAccess } from "../../hooks/index.ts";
import { type StateTree, sameState } from "../../state/index.ts";
import { latestCheckpoint, type TrainerContext } from "../../trainer/index.ts";
import {
  type CheckpointManager,
  type CheckpointMetadata,
  type Snapshot,
  snapshotOf,
} from "../manager/index.ts";
import { defaultPatience, RankMeeting } from "../ranks/index.ts";
import { nodeFileSystem } from "../store/file-system.ts";
import { systemProcesses } from "../store/lock.ts";
import { filingOf } from "./filing.ts";
import { PublishMarks } from "./marks.ts";
import { openManager } from "./open-manager.ts";
import type { CheckpointPlan, Publication } from "./options.ts";
import { isPublishing, publish } from "./publish.ts";
import { restoreRun } from "./restore-run.ts";

/** Saves a run: at the hook's times, and at its end what has come since. One checkpoint is written at a time. */
export class CheckpointKeeper {
  readonly marks: PublishMarks;
  readonly #plan: CheckpointPlan;
  #warn: (text: string) => void = () => undefined;
  #manager: Promise<CheckpointManager> | undefined;
  /** The write under way. Never rejects. */
  #writing: Promise<unknown> | undefined;
  /** The trainer's state in the newest checkpoint, or where the run began. */
  #saved: StateTree | undefined;
  #published: { readonly uri: string; readonly counters: TrainerContext["counters"] } | undefined;
  /** How ranks end at the same place; undefined for one rank. */
  #meeting: RankMeeting | undefined;
  /** Whether a failure has put an end to saving. */
  #off = false;

  constructor(plan: CheckpointPlan) {
    this.#plan = plan;
    this.marks = new PublishMarks(plan.publish);
  }

  /** A run begins; the one before, if there was one, is over. */
  begin({ warn }: HookHost): void {
    this.#warn = warn;
    this.#saved = undefined;
    this.#published = undefined;
    this.#off = false;
    this.marks.clear();
  }

  /** Takes the store, and restores where that is asked for. */
  async start(context: TrainerContext): Promise<void> {
    const manager = await this.#opened(context);
    const restored = await restoreRun(this.#plan, manager, context, this.#warn);
    if (restored) {
      const { path, counters } = restored;
      context.slots.set(latestCheckpoint, { path, uri: null, counters });
    }
    this.#saved = await context.components.trainer?.getState();
    this.#meet(context);
    // What freezing must compile is compiled now, not in the middle of training.
    await context.snapshot();
  }

  /** Freezes the run once all hooks of this event have run, and writes it while training goes on. */
  save(context: TrainerContext): void {
    if (this.#off) return;
    // Marked before any hook freezes the run: whoever resumes from this event goes on after it.
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
    if (this.#off || outcome === "failed") return;
    if (config.ranks > 1 && outcome !== "completed" && (!this.#meeting || this.#meeting.failure)) {
      const why = this.#meeting?.failure ?? "only the primary checkpoint hook saves the end of several ranks";
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

  /** Waits for what is being written and gives the store back. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#meeting?.close();
    this.#meeting = undefined;
    const manager = this.#manager;
    this.#manager = undefined;
    await (await manager?.catch(() => undefined))?.close();
  }

  /** Freezes the run as it is now, when the write before is done. Gives what writes it. */
  async #freeze(
    context: TrainerContext,
    due: readonly Publication[],
  ): Promise<(() => Promise<void>) | undefined> {
    await this.#writing;
    if (this.#off) return undefined;
    const manager = await this.#opened(context);
    const { components } = await context.snapshot();
    const frozen = snapshotOf(components);
    const filing = filingOf(context, components.trainer, this.#plan.metadata);
    const { slots } = context;
    this.#saved = components.trainer;
    return () => {
      const writing = this.#write(manager, frozen, filing, due, slots);
      this.#writing = writing.catch(() => undefined);
      return writing;
    };
  }

  async #write(
    manager: CheckpointManager,
    frozen: Snapshot,
    filing: () => Promise<CheckpointMetadata>,
    due: readonly Publication[],
    slots: SlotAccess,
  ): Promise<void> {
    try {
      const { name, path, manifest } = await manager.write(frozen, await filing());
      const { counters } = manifest;
      const tell = (uri: string | null): void => {
        if (uri !== null) this.#published = { uri, counters };
        const published = this.#published && { published: this.#published };
        const use = (): (() => void) => manager.use(name);
        if (this.#plan.primary) slots.set(latestCheckpoint, { path, uri, counters, ...published, use });
      };
      tell(null);
      for (const { to } of due) tell(await publish(manager, name, to));
    } catch (error) {
      // Whatever was not written is still to be saved at the end.
      if (!isPublishing(error)) this.#saved = undefined;
      this.#off = this.#plan.onFailure !== "warn";
      throw error;
    } finally {
      frozen.release();
    }
  }

  /** Has ranks end at the same place, where they can save what has come since the last checkpoint. */
  #meet(context: TrainerContext): void {
    const { directory, primary, patience = defaultPatience } = this.#plan;
    const { rank, ranks } = context.config;
    if (ranks === 1 || !primary || directory === undefined) return;
    const machine = { fs: nodeFileSystem, processes: systemProcesses() };
    const root = resolve(directory);
    const meeting = new RankMeeting({ ...machine, root, rank, ranks, patience, warn: this.#warn });
    this.#meeting = meeting;
    meeting.watch(context.endTogether((here, why) => meeting.agree(here, why)));
  }

  #opened(context: TrainerContext): Promise<CheckpointManager> {
    this.#manager ??= openManager(this.#plan, context, this.#warn);
    return this.#manager;
  }
}
