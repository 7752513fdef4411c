import type { Clock } from "../../core/index.ts";
import type { computedBy, Manifest } from "../manifest/index.ts";
import type { CheckpointStore } from "../store/index.ts";
import type { Keep } from "./retention.ts";

/** What a {@link CheckpointManager} is made with. */
export interface CheckpointManagerOptions {
  readonly store: CheckpointStore;
  /** Which checkpoints stay; all of them unless given. */
  readonly keep?: Keep;
  readonly clock?: Clock;
  /** The run's name, kept in manifests and shown to whoever finds the store locked. */
  readonly run?: string;
  /** Gets warnings: checkpoints passed over, leftovers removed. */
  readonly warn?: (text: string) => void;
  /** @internal What to do where no checkpoint has the score that `keep.best` goes by. */
  readonly hint?: string;
  /** How it is found out what computes; for tests. */
  readonly computedBy?: typeof computedBy;
}

/** A checkpoint that is whole and will stay so. */
export interface SavedCheckpoint {
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
  /** Bytes of its components' files. */
  readonly bytes: number;
}
