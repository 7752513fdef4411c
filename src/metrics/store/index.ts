/** Where what runs did is kept and asked for. */
export { openStatsStore, type StatsStoreOptions } from "./open.ts";
export type * from "./stats-store.ts";
