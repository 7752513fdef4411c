import { createHash } from "node:crypto";

const LONGEST = 250;
const notAllowed = /[^\p{L}\p{N}_./: -]/gu;

/**
 * A key as MLflow takes it: letters, digits and `_./: -`, of at most 250 characters, no path that leads elsewhere.
 * Where that changes it, the end is made of the whole key, so that two keys never become one.
 */
export function mlflowName(key: string): string {
  const clean = key
    .replace(notAllowed, "_")
    .split("/")
    .map((part) => (part === "" || part === "." || part === ".." ? "_" : part))
    .join("/");
  if (clean === key && key.length <= LONGEST) return key;
  const hash = createHash("sha256").update(key).digest("hex").slice(0, 8);
  return `${clean.slice(0, LONGEST - hash.length - 1)}_${hash}`;
}
