export { newestWhole } from "./newest-of-all.ts";
export { type RankedStore, type RankedStoreOptions, rankedStore } from "./ranked-store.ts";
