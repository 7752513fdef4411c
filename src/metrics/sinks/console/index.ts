export { type ConsoleOptions, type ConsoleStream, consoleSink } from "./console-sink.ts";
