/** The contract of everything that is saved and restored, and what states have in common. */
export { firstDifference, type StateDifference, sameState } from "./compare.ts";
export { flattenState, type StateEntry } from "./flatten.ts";
export { hashState } from "./hash.ts";
export { checkOwners } from "./owners.ts";
export type { Stateful, StateLeaf, StateTree } from "./stateful.ts";
export { deepest, join as joinPath, type StateNode, walkState } from "./walk.ts";
