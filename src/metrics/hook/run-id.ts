import { randomBytes } from "node:crypto";

/**
 * An id for a new run that people can read: its name, when it began, and enough chance to be alone.
 *
 * @example
 * ```ts
 * newRunId("MNIST, small", Date.UTC(2025, 0, 2, 3, 4, 5)); // "mnist-small-20250102-030405-9f86d0"
 * ```
 */
export function newRunId(name: string, wall: number): string {
  const word = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  const time = new Date(wall).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `${word || "run"}-${time}-${randomBytes(3).toString("hex")}`;
}
