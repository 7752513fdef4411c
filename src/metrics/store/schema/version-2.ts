import type { Migration } from "./migrations.ts";

/** What is filed of a run beside its metrics. */
export const eventsAndHooks: Migration = {
  name: "events and hooks",
  statements({ counted, integer, real }) {
    const events = (table: string, own: string): readonly string[] => [
      `create table ${table} (
        number ${counted}, run ${integer} not null, step ${real} not null, wall ${real} not null,
        identity ${integer} not null, ${own}, unique (run, identity))`,
    ];
    return [
      ...events("evaluations", "name text not null, scores text not null"),
      ...events("episodes", `"return" ${real}, length ${real}, info text`),
      ...events("replays", "path text not null, uri text"),
      ...events("checkpoints", "path text not null, uri text"),
      ...events("heartbeats", `pid ${integer} not null, host text not null, phase text not null`),
      "create index heartbeats_by_wall on heartbeats (run, wall)",
      ...events("interventions", "who text not null, what text not null, details text"),
      `create table hook_decisions (
        number ${counted}, run ${integer} not null, hook text not null, event text not null,
        ran ${integer} not null, why text not null, from_step ${real} not null, to_step ${real} not null,
        times ${integer} not null)`,
      "create index hook_decisions_by_hook on hook_decisions (run, hook, event, number)",
      `create table hook_timings (
        run ${integer} not null, hook text not null, count ${integer} not null, mean ${real}, p99 ${real},
        max ${real}, total ${real}, primary key (run, hook))`,
    ];
  },
};
