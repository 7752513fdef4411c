export * from "./clock.ts";
export * from "./error.ts";
export * from "./metric-name.ts";
export {
  environmentVariable,
  makeDirectory,
  nextTurn,
  node,
  onNode,
  outputPath,
  withOutputs,
  writeWhole,
} from "./node.ts";
export * from "./options.ts";
export * from "./printable.ts";
export * from "./protobuf.ts";
export { hex, nameWords, type Sha256, sha256 } from "./sha256.ts";
export * from "./suggest.ts";
export * from "./text.ts";
export { answerCalls, ThreadCalls, type ThreadEnd } from "./thread-calls.ts";
export * from "./tree.ts";
