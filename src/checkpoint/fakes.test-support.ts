import type { Stateful, StateTree } from "../state/index.ts";
import type { ComputedBy } from "./computed-by.ts";

/** A component that holds whatever it is given. */
export class Holder implements Stateful {
  state: StateTree;
  constructor(state: StateTree) {
    this.state = state;
  }
  getState(): StateTree {
    return this.state;
  }
  setState(state: StateTree): void {
    this.state = state;
  }
}

export const somebody: ComputedBy = {
  engine: "none",
  device: "none",
  plugin: { name: "none", sha256: null },
  cpu: { model: "a processor", features: "some" },
  threads: 2,
  compileOptions: {},
  platform: "here",
  v8: "1",
  node: "20",
  espalier: "0",
};
