export type { Placement } from "./device.ts";
export { type ComponentImage, imageOf, leafName } from "./image.ts";
export { decodeJson, encodeJson, type Json, parseJson, unknownMark } from "./json.ts";
export { type SavedLeaf, savedLeaves } from "./leaves.ts";
export { readComponent, type SavedTree, tensorTypes, treeOf } from "./read.ts";
export { writeComponent } from "./write.ts";
