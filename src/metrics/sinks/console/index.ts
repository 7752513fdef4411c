export { type ConsoleOptions, consoleSink } from "./console-sink.ts";
export type { ConsoleStream } from "./outlet.ts";
