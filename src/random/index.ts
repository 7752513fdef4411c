/** Named random streams split from one seed. */
export { RandomStreams, Stream } from "./streams.ts";
