import { EspalierError, nameWords } from "../core/index.ts";
import { random, type Value } from "../engine/index.ts";

/** A term's own key: it depends on the step's key and the term's name, never on which other terms are there. */
export function termKey(name: string, key: Value | undefined): Value {
  if (key === undefined)
    throw new EspalierError("LOSS_KEY_MISSING", `loss "${name}" draws random numbers, and there is no key`, {
      fix: "pass a key with the step: { train: true, key }",
    });
  const [first, second] = nameWords(name);
  return random.foldIn(random.foldIn(key, first), second);
}
