import type { Stateful, StateTree } from "../../state/index.ts";
import type { EvaluationScores, ReplayRecord } from "../../trainer/index.ts";
import { SlotWatch } from "./slot-watch.ts";

/** Which of the values that other hooks share have been taken. */
export class Marks implements Stateful {
  readonly evaluations = new SlotWatch<EvaluationScores>();
  readonly replays = new SlotWatch<ReplayRecord>();

  getState(): { readonly evaluations: StateTree; readonly replays: StateTree } {
    return { evaluations: this.evaluations.getState(), replays: this.replays.getState() };
  }

  setState(state: StateTree): void {
    const { evaluations = null, replays = null } = (state ?? {}) as { readonly [name: string]: StateTree };
    this.evaluations.setState(evaluations);
    this.replays.setState(replays);
  }
}
