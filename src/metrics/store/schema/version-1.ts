import type { Migration } from "./migrations.ts";

/** Runs and their metrics. The view is for people with a database client; SQLite keeps to the order of its cross joins. */
export const runsAndMetrics: Migration = {
  name: "runs and metrics",
  statements: ({ counted, integer, real, clustered, nan }) => [
    `create table runs (
      number ${counted}, id text not null unique, name text not null, started_at ${real} not null,
      process text not null, ended_at ${real}, outcome text not null, reason text,
      config text not null, resumes ${integer} not null)`,
    "create index runs_by_name on runs (name)",
    `create table run_heads (
      run ${integer} primary key, counters text not null, places ${integer} not null, sealed_wall ${real},
      block ${integer}, block_rows ${integer} not null, first_wall ${real}, last_wall ${real})`,
    `create table metric_keys (
      id ${counted}, run ${integer} not null, key text not null, category text not null, name text not null,
      unit text not null, axis text not null, reduction text not null,
      unique (run, key, category, name, unit, axis, reduction))`,
    `create table metric_blocks (
      id ${counted}, run ${integer} not null, sealed ${integer} not null, first_wall ${real}, last_wall ${real},
      last_place ${integer})`,
    "create index metric_blocks_by_run on metric_blocks (run, id)",
    `create table metrics (
      block ${integer} not null, key ${integer} not null, step ${real} not null, identity ${integer} not null,
      place ${integer} not null, wall ${real} not null, value ${real}, form ${integer} not null, body text,
      count ${integer} not null, not_finite ${integer} not null,
      primary key (block, key, step, identity))${clustered}`,
    `create table metric_sums (
      block ${integer} not null, key ${integer} not null, points ${integer} not null, last_step ${real} not null,
      primary key (block, key))${clustered}`,
    `create view metric_values as
      select r.id as run, k.key, k.category, k.name, k.unit, k.axis, k.reduction, m.step, m.wall,
        case when m.form = 1 then ${nan} else m.value end as value, m.body, m.count, m.not_finite, m.place
      from runs r cross join metric_keys k cross join metric_blocks b cross join metrics m
      where k.run = r.number and b.run = r.number and m.block = b.id and m.key = k.id`,
  ],
};
