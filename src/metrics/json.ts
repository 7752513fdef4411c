/** What JSON can hold, as checkpoints hold it too. */
export type { Json } from "../checkpoint/index.ts";
