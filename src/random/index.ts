/** Named random streams split from one seed. */
export { RandomStreams, type Stream } from "./streams.ts";
