/** The contract of everything that is saved and restored, and what states have in common. */
export { firstDifference, type StateDifference, sameState } from "./compare.ts";
export { flattenState, type StateEntry } from "./flatten.ts";
export { hashState } from "./hash.ts";
export type { Stateful, StateLeaf, StateTree } from "./stateful.ts";
