const notAllowed = /[^\p{L}\p{N}_.\-/]+/gu;

/** What is left of a name when everything that a sink could stumble over is gone. */
export function sanitised(text: string): string {
  const clean = text
    .replace(notAllowed, "_")
    .split("/")
    .filter((part) => part !== "")
    .join("/")
    .slice(0, 200);
  return clean === "" || clean === "." || clean === ".." ? "_" : clean;
}

/** Gives every metric a key of its own, also where two names are the same once they are sanitised. */
export class KeyRing {
  readonly #taken = new Set<string>();

  keyOf(category: string, name: string): string {
    const wanted = `${sanitised(category)}/${sanitised(name)}`;
    let key = wanted;
    // Some back ends do not tell upper from lower case: neither does this.
    for (let i = 2; this.#taken.has(key.toLowerCase()); i++) key = `${wanted}_${i}`;
    this.#taken.add(key.toLowerCase());
    return key;
  }
}
