export type { PartedStore } from "../manager/catalog.ts";
export { anyRanksStore } from "./any-ranks-store.ts";
export { checkRanks } from "./check-ranks.ts";
export { type MeetingOptions, RankMeeting } from "./meeting.ts";
export { partName, ranksOf } from "./parts.ts";
export { defaultPatience, type RankedStoreOptions, rankedStore } from "./ranked-store.ts";
