import { createHash } from "node:crypto";
import type { Counters } from "../../schedule/index.ts";

/** `epoch-0012-update-000480`: after 12 epochs and 480 updates. A name that is taken gets `-2`, `-3`, ... */
export function checkpointName(
  { epochs, updates }: Pick<Counters, "epochs" | "updates">,
  taken: readonly string[],
): string {
  const name = `epoch-${String(epochs).padStart(4, "0")}-update-${String(updates).padStart(6, "0")}`;
  const free = (count: number): string =>
    taken.includes(count === 1 ? name : `${name}-${count}`)
      ? free(count + 1)
      : count === 1
        ? name
        : `${name}-${count}`;
  return free(1);
}

/** Whether a name is one that checkpoints get. */
export const isCheckpointName = (name: string): boolean => /^epoch-\d+-update-\d+(-\d+)?$/.test(name);

/** A file for each component, named like it as far as every file system allows. */
export function fileNames(components: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    components.map((component) => {
      const plain = component.replace(/[^A-Za-z0-9._-]/g, (character) =>
        Array.from(
          new TextEncoder().encode(character),
          (byte) => `%${byte.toString(16).padStart(2, "0")}`,
        ).join(""),
      );
      const hash = createHash("sha256").update(component).digest("hex").slice(0, 12);
      // Some file systems take A for a; names that are long, hidden or taken get a hash of the component's name.
      const fits = plain.length <= 120 && /^[A-Za-z0-9_%-]/.test(plain) && !taken.has(plain.toLowerCase());
      const file = fits ? plain : `${plain.slice(0, 100).replace(/^\./, "_")}-${hash}`;
      taken.add(file.toLowerCase());
      return [component, `${file}.safetensors`];
    }),
  );
}
