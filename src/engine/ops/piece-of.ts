/** A divisor near `room`, or `room` itself where there is none. */
export function pieceOf(length: number, room: number): number {
  for (let more = 0; more <= room / 2; more++)
    for (const piece of [room + more, room - more]) if (piece > 1 && length % piece === 0) return piece;
  return room;
}
