import type { StatsStore } from "../../../metrics/index.ts";

/**
 * A place in what came of a run after which there are fewer than `rows` rows. Places only grow, and stores find one
 * quickly: so this asks some dozens of times instead of reading all that came before.
 */
export async function lastPlace(
  store: Pick<StatsStore, "since">,
  run: string,
  rows: number,
): Promise<number> {
  const isNear = async (place: number): Promise<boolean> =>
    (await store.since(run, place, rows)).rows.length < rows;
  let near = 0;
  let far = -1;
  while (!(await isNear(near))) {
    far = near;
    near = Math.max(1, near * 2);
  }
  while (near - far > 1) {
    const middle = far + Math.floor((near - far) / 2);
    if (await isNear(middle)) near = middle;
    else far = middle;
  }
  return near;
}
