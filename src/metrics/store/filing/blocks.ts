import { ask, type Filing, tell } from "./request.ts";

/**
 * Rows after which a block is sealed, as soon as a later moment comes, and after which at any moment. More let a window
 * touch more pages of the file, fewer make more looks of a query.
 */
const [enough, most] = [500, 8000];

/** Where filing a run stands. */
export interface Head {
  readonly run: number;
  readonly places: number;
  readonly sealed_wall: number | null;
  readonly block: number | null;
  readonly block_rows: number;
  readonly first_wall: number | null;
  readonly last_wall: number | null;
}

/** The block that takes the next rows, with the earliest and the latest moment in it. */
export interface OpenBlock {
  readonly block: number;
  readonly rows: number;
  readonly walls: readonly number[];
  readonly sealedWall: number | null;
}

const addBlock = "insert into {metric_blocks} (run, sealed) values (?, 0) returning id";
const sealBlock = `update {metric_blocks} set sealed = 1, first_wall = ?, last_wall = ?, last_place = ? where id = ?`;
const sumBlock = `insert into {metric_sums} (block, key, points, last_step)
  select block, key, count(*), max(step) from {metrics} where block = ? group by block, key`;

/**
 * The block that goes on, or a new one where that is full. A block is not ended within a moment: what comes again comes
 * with the moment at which it was made, and is then found in the block itself.
 */
export function* openBlock(head: Head, from: number): Filing<OpenBlock> {
  const { run, places, block, block_rows: rows, first_wall, last_wall, sealed_wall } = head;
  const last = last_wall ?? from;
  if (block !== null && (rows < enough || (rows < most && from <= last)))
    return { block, rows, walls: [first_wall ?? from, last], sealedWall: sealed_wall };
  if (block !== null) {
    yield* tell(sealBlock, first_wall, last, places, block);
    yield* tell(sumBlock, block);
  }
  const sealedWall = block === null ? sealed_wall : Math.max(last, sealed_wall ?? last);
  const [added] = yield* ask<{ id: number }>(addBlock, run);
  return { block: (added as { id: number }).id, rows: 0, walls: [], sealedWall };
}
