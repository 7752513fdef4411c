/** The contract of everything that is saved and restored, and functions of states. */
export { firstDifference, type StateDifference, sameState } from "./compare.ts";
export { hashState } from "./hash.ts";
export type { Stateful, StateLeaf, StateTree } from "./stateful.ts";
export {
  checkOwners,
  deepest,
  flattenState,
  join as joinPath,
  type StateEntry,
  type StateNode,
  walkState,
} from "./walk.ts";
