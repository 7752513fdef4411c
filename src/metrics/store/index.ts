/** Where what runs did is kept and asked for. */
export * from "./stats-store.ts";
export { type HookDecisions, readWhy } from "./why.ts";
