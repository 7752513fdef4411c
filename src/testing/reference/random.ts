import type { Dense } from "../dense.ts";
import { dense } from "../dense.ts";
import type { Reference } from "../sample.ts";

const turns = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** Threefry-2x32 with twenty rounds, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
export function threefry(
  key: readonly [number, number],
  count: readonly [number, number],
): readonly [number, number] {
  const keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda] as const;
  let x = (count[0] + key[0]) | 0;
  let y = (count[1] + key[1]) | 0;
  for (let group = 0; group < 5; group++) {
    for (const by of turns[(group % 2) as 0 | 1]) {
      x = (x + y) | 0;
      y = ((y << by) | (y >>> (32 - by))) ^ x;
    }
    x = (x + (keys[(group + 1) % 3] as number)) | 0;
    y = (y + (keys[(group + 2) % 3] as number) + group + 1) | 0;
  }
  return [x >>> 0, y >>> 0];
}

const threefry2x32: Reference = (inputs) => {
  const shape = inputs.find((input) => input.shape.length > 0)?.shape ?? [];
  const size = shape.reduce((product, n) => product * n, 1);
  const word = (input: Dense, i: number): number => input.data[input.shape.length === 0 ? 0 : i] as number;
  const [k0, k1, c0, c1] = inputs as readonly [Dense, Dense, Dense, Dense];
  const pairs = Array.from({ length: size }, (_, i) =>
    threefry([word(k0, i), word(k1, i)], [word(c0, i), word(c1, i)]),
  );
  return [0, 1].map((half) =>
    dense(
      "u32",
      shape,
      pairs.map((pair) => pair[half] as number),
    ),
  );
};

export const randomReferences: Readonly<Record<string, Reference>> = { threefry2x32 };
