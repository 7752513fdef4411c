/** Bytes of a chunk of experience, and senders, each of which has one on the way. */
export const chunkBytes = 100_000;
export const inFlight = 32;

/** Weights of 10 MB for 8 workers, in pieces of 500 kB. */
export const weightBytes = 10_000_000;
export const pieces = 20;
export const receivers = 8;
