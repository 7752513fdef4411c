import { crc32c, MessageBytes } from "../wire/index.ts";

/** TensorFlow keeps checksums in disguise, so that one of data which holds checksums is not weak. */
export const masked = (crc: number): number => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;

/** Size of a record and the checksum of that. */
const HEADER = 12;

const field = { wall: 1, step: 2, fileVersion: 3, sessionLog: 7 } as const;
const sessionLog = { status: 1, START: 1 } as const;

/** Event messages, each framed as a record of TensorFlow's: size, checksum of the size, message, checksum of it. */
export class EventBytes extends MessageBytes {
  #event = 0;

  /** Begins an event. TensorBoard counts in whole numbers, and walls in seconds. */
  beginEvent(wall: number, step: number): void {
    this.#event = this.claim(HEADER) + HEADER;
    this.double(field.wall, wall / 1000);
    const whole = Number.isFinite(step) ? Math.floor(step) : 0;
    if (whole !== 0) this.integer(field.step, whole);
  }

  endEvent(): void {
    const start = this.#event;
    const size = this.length - start;
    this.rawUint32(size, start - HEADER);
    this.rawUint32(0, start - 8);
    this.rawUint32(masked(crc32c(this.buffer, start - HEADER, start - 4)), start - 4);
    this.rawUint32(masked(crc32c(this.buffer, start, start + size)));
  }

  /** What every file begins with. From this version on steps may go backwards. */
  fileVersion(wall: number): void {
    this.beginEvent(wall, 0);
    this.text(field.fileVersion, "brain.Event:2");
    this.endEvent();
  }

  /** A process begins: readers drop what earlier files of the run hold from this step on. */
  sessionStart(wall: number, step: number): void {
    this.beginEvent(wall, step);
    const log = this.begin(field.sessionLog);
    this.integer(sessionLog.status, sessionLog.START);
    this.end(log);
    this.endEvent();
  }
}
