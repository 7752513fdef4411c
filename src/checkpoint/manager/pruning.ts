import type { Manifest } from "../manifest/index.ts";
import type { StoreLock } from "../store/index.ts";
import { listCheckpoints } from "./catalog.ts";
import type { InUse } from "./in-use.ts";
import type { CheckpointManagerOptions } from "./options.ts";
import { checkKeep, expendable } from "./retention.ts";
import { unmetRule } from "./unmet-rule.ts";

/** Removes checkpoints that no rule keeps; never the newest, nor those in use. */
export class Pruning {
  readonly #options: CheckpointManagerOptions;
  readonly #used: InUse;
  #warned = false;

  constructor(options: CheckpointManagerOptions, used: InUse) {
    this.#options = options;
    this.#used = used;
    if (options.keep) checkKeep(options.keep);
  }

  /** Because somebody asks for it: a rule that goes by what no checkpoint has is an error. */
  async prune(lock: StoreLock, newest: string | undefined): Promise<readonly string[]> {
    const { keep } = this.#options;
    if (!keep) return [];
    const manifests = await this.#manifests();
    const unmet = unmetRule(manifests, keep);
    if (unmet) throw unmet;
    return this.#remove(lock, expendable(manifests, keep), newest);
  }

  /** After a save: such a rule removes nothing, and is told once, as what it goes by may come later. */
  async follow(lock: StoreLock, saved: string): Promise<void> {
    const { keep, warn, hint } = this.#options;
    if (!keep) return;
    const manifests = await this.#manifests();
    const unmet = manifests.length > 1 && !this.#warned ? unmetRule(manifests, keep, hint) : undefined;
    if (unmet) {
      this.#warned = true;
      warn?.(`${unmet.message}\n  No checkpoint is removed until one has it.`);
    }
    await this.#remove(lock, expendable(manifests, keep, saved), saved);
  }

  async #manifests(): Promise<readonly Manifest[]> {
    const entries = await listCheckpoints(this.#options.store);
    // By the names under which they lie: a copy says the name of the original.
    return entries.flatMap(({ name, manifest }) => (manifest ? { ...manifest, name } : []));
  }

  async #remove(
    lock: StoreLock,
    names: readonly string[],
    newest: string | undefined,
  ): Promise<readonly string[]> {
    const removed = names.filter((name) => name !== newest && !this.#used.has(name));
    for (const name of removed) await lock.remove(name);
    return removed;
  }
}
