/** A copy that shares no memory. */
export const copied = <T>(value: T): T => structuredClone(value);

/** Writes into every array and object there is, as a careless user would. */
export function spoil(value: unknown): void {
  if (ArrayBuffer.isView(value)) (value as Uint8Array).fill(77);
  else if (Array.isArray(value)) {
    value.forEach((item, i) => {
      if (typeof item === "number") value[i] = 77;
      else spoil(item);
    });
  } else if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    const parts = value as Record<string, unknown>;
    for (const [name, part] of Object.entries(parts)) {
      if (typeof part === "number") parts[name] = 77;
      else spoil(part);
    }
  }
}
