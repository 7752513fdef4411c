import type { Counters } from "../../../schedule/index.ts";
import { type TrainerEvent, trainerEvents } from "../../../trainer/index.ts";

/** What the main thread may be doing. `off`: nothing that is watched. `other`: what lies between. */
export const phases = ["off", "rollout", "train", "validation", "hook", "other"] as const;
export type BoardPhase = (typeof phases)[number];

/** Places on the board. */
export const places = { beats: 0, phase: 1, event: 2, epoch: 3, updates: 4, size: 5 } as const;

/** Where the main thread notes what it does, in memory that the watching thread sees too. A note costs some stores. */
export class Board {
  readonly shared = new Int32Array(new SharedArrayBuffer(places.size * Int32Array.BYTES_PER_ELEMENT));

  mark(phase: BoardPhase, event: TrainerEvent, { epoch, updates }: Counters): void {
    const { shared } = this;
    shared[places.phase] = phases.indexOf(phase);
    shared[places.event] = trainerEvents.indexOf(event);
    shared[places.epoch] = epoch;
    shared[places.updates] = updates;
    // Last, and seen in this order by the other thread.
    Atomics.add(shared, places.beats, 1);
  }
}
