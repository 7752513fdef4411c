/** The contract of everything that is saved and restored, and functions of states. */
export { firstDifference, sameState } from "./compare.ts";
export { hashState } from "./hash.ts";
export type { Stateful, StateLeaf, StateTree } from "./stateful.ts";
export { copyState, deepest, flattenState, join as joinPath, type StateNode, walkState } from "./walk.ts";
