/** Every op that works element by element, whichever file its row is in. */
export * from "./arithmetic.ts";
export * from "./bits.ts";
export * from "./compare.ts";
export * from "./functions.ts";
export * from "./pass-through.ts";
