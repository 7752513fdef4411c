import { isDeepStrictEqual } from "node:util";
import { EspalierError } from "../../core/index.ts";

/** Checks that two values are equal through and through. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new EspalierError(
    "CONFORMANCE",
    `${what}: ${JSON.stringify(actual)}, where ${JSON.stringify(expected)} was expected`,
  );
}

/** Checks that something is refused with this code, and in these words. */
export async function refuses(
  work: () => Promise<unknown>,
  code: string,
  what: string,
  words = /./,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof EspalierError && error.code === code && words.test(error.message)) return;
    throw new EspalierError("CONFORMANCE", `${what} failed otherwise than with ${code} and ${words}`, {
      cause: error,
    });
  }
  throw new EspalierError("CONFORMANCE", `${what} was accepted, where ${code} was expected`);
}
