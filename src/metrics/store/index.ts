/** Where what runs did is kept and asked for. */
export * from "./stats-store.ts";
