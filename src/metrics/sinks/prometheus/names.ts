import { createHash } from "node:crypto";

/** What a summary uses beside its own name. */
const PARTS = ["", "_sum", "_count"];

/** Gives every metric a name that Prometheus takes, no two the same. */
export class PrometheusNames {
  readonly #names = new Map<string, string>();
  readonly #taken: Set<string>;

  /** The names in `taken` are of others. */
  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  nameOf(key: string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const plain = `espalier_${key.replace(/[^a-zA-Z0-9_]+/g, "_")}`;
    const hash = createHash("sha256").update(key).digest("hex").slice(0, 8);
    const isTaken = (name: string): boolean => PARTS.some((part) => this.#taken.has(`${name}${part}`));
    let name = plain;
    for (let i = 1; isTaken(name); i++) name = `${plain}_${hash}${i === 1 ? "" : i}`;
    this.#names.set(key, name);
    for (const part of PARTS) this.#taken.add(`${name}${part}`);
    return name;
  }
}
