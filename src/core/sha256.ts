import { sha256 as pureSha256 } from "@noble/hashes/sha2";

/** A sha256 in the making. */
export interface Sha256 {
  /** Adds bytes, or a text as UTF-8. */
  update(data: string | Uint8Array): Sha256;
  /** The 32 bytes of the hash; nothing can be added afterwards. */
  digest(): Uint8Array;
}

/**
 * Starts a sha256: Node's own, which hashes gigabytes in seconds, where there is one, else one in JavaScript.
 *
 * @example
 * ```ts
 * const words = new DataView(sha256().update("data").digest().buffer);
 * ```
 */
export function sha256(): Sha256 {
  const crypto = globalThis.process?.getBuiltinModule?.("node:crypto");
  if (!crypto) return sha256InJavaScript();
  const hash = crypto.createHash("sha256");
  const made: Sha256 = {
    update(data) {
      hash.update(data);
      return made;
    },
    digest: () => Uint8Array.from(hash.digest()),
  };
  return made;
}

/** The same bits without Node, for browsers. */
export function sha256InJavaScript(): Sha256 {
  const hash = pureSha256.create();
  const made: Sha256 = {
    update(data) {
      hash.update(typeof data === "string" ? new TextEncoder().encode(data) : data);
      return made;
    },
    digest: () => hash.digest(),
  };
  return made;
}

/** The first two words of the hash of a name, little-endian: what streams, parameters and losses fold into their keys. */
export function nameWords(name: string): readonly [first: number, second: number] {
  const view = new DataView(sha256().update(name).digest().buffer);
  return [view.getUint32(0, true), view.getUint32(4, true)];
}

/** Bytes as lower-case hexadecimal digits. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
