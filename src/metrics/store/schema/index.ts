/** The one schema of both databases, and how an older one becomes the newest. */
export { migrate } from "./migrate.ts";
export { type Migration, migrations, type Words } from "./migrations.ts";
export type { Tables } from "./tables.ts";
