import { np, random, type Value } from "../../../engine/index.ts";

/** Up to so many choices one uniform number picks; beyond, the program would grow too long. */
const fewChoices = 32;

/** One of the last axis's choices, each as likely as the softmax of its logits says, in f32 without that axis. */
export function drawChoice(logits: Value, key: Value): Value {
  if ((logits.shape.at(-1) as number) > fewChoices) return np.astype(random.categorical(key, logits), "f32");
  return choiceAt(logits, random.uniform(key, logits.shape.slice(0, -1)));
}

/**
 * The choice at a place from 0 up to 1 of a line on which choices lie side by side, each as long as it is likely. This
 * takes one random number a row and no logarithm, where Gumbel's way takes a number and two logarithms for each choice.
 * Lengths are added one after the other, so that what is never likely is nowhere on the line, whatever is rounded.
 */
export function choiceAt(logits: Value, place: Value): Value {
  const n = logits.shape.at(-1) as number;
  const lengths = np.exp(np.subtract(logits, np.max(logits, { axis: -1, keepdims: true })));
  const ends: Value[] = [];
  for (let i = 0; i < n; i++) {
    const length = np.slice(lengths, "...", i);
    const before = ends.at(-1);
    ends.push(before ? np.add(before, length) : length);
  }
  // The largest place is 1 - 2^-23, and its product with the line's end is below that end in every case.
  const mark = np.multiply(place, ends.at(-1) as Value);
  return ends
    .slice(0, -1)
    .map((end) => np.astype(np.greaterEqual(mark, end), "f32"))
    .reduce((sum, passed) => np.add(sum, passed), np.zerosLike(place));
}
