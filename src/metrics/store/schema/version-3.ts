import type { Migration } from "./migrations.ts";

/** Which checkpoint an evaluation looked at. */
export const evaluatedCheckpoints: Migration = {
  name: "checkpoints of evaluations",
  statements: () => ["alter table evaluations add column checkpoint text"],
};
