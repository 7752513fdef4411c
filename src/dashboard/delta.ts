/**
 * What has changed in an answer, for a page that holds the one before: delta encoding of HTTP (RFC 3229). Server and page
 * share this file. Answers are JSON documents, and so are deltas:
 *
 *     { is: value }                              it is something else
 *     { fields: { NAME: delta }, gone: [NAME] }  of an object: fields that are new or changed, and those that went
 *     { list: [[4, 96], { is: value }] }         of a list: 96 elements of the one before from place 4 on, then another
 */

/** What a page accepts, in `a-im`, and the server says in `im` where it sends a delta. */
export const deltaCoding = "espalier-delta";

export type Delta =
  | { readonly is: unknown }
  | { readonly fields: Readonly<Record<string, Delta>>; readonly gone: readonly string[] }
  | { readonly list: readonly Piece[] };

/** Elements of the list before, or one that was not in it. */
type Piece = [from: number, count: number] | { readonly is: unknown };

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The delta that `applied` makes `after` of `before` with. */
export function difference(before: unknown, after: unknown): Delta {
  if (Array.isArray(before) && Array.isArray(after)) return { list: piecesOf(before, after) };
  if (!isFields(before) || !isFields(after)) return { is: after };
  // Names come from users: `__proto__` may be one.
  const known = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known.get(name)),
  );
  return {
    fields: Object.fromEntries(changed.map(([name, value]) => [name, difference(known.get(name), value)])),
    gone: [...known.keys()].filter((name) => !Object.hasOwn(after, name)),
  };
}

/** Elements that are the same are found wherever they moved to. */
function piecesOf(before: readonly unknown[], after: readonly unknown[]): readonly Piece[] {
  const texts = before.map((value) => JSON.stringify(value));
  const places = new Map(texts.map((text, i) => [text, i]));
  const pieces: Piece[] = [];
  for (const value of after) {
    const text = JSON.stringify(value);
    const [last, place] = [pieces.at(-1), places.get(text)];
    if (Array.isArray(last) && texts[last[0] + last[1]] === text) last[1] += 1;
    else pieces.push(place === undefined ? { is: value } : [place, 1]);
  }
  return pieces;
}

/** What an answer has become. Throws of a delta that is not of it. */
export function applied(before: unknown, delta: Delta): unknown {
  if ("is" in delta) return delta.is;
  if ("list" in delta) {
    const list = before as readonly unknown[];
    return delta.list.flatMap((piece) =>
      Array.isArray(piece) ? list.slice(piece[0], piece[0] + piece[1]) : [piece.is],
    );
  }
  const known = Object.entries(before as Fields).filter(([name]) => !delta.gone.includes(name));
  const all = new Map(known);
  for (const [name, change] of Object.entries(delta.fields)) all.set(name, applied(all.get(name), change));
  return Object.fromEntries(all);
}
