/** A value that JSON can hold. */
export type { Json } from "../checkpoint/index.ts";
