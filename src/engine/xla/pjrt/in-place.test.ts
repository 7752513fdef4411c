import { describe, expect, it } from "vitest";
import { InPlace } from "./read.ts";

/** References to buffers, whose memory lies a thousand bytes behind their handles. */
function counted() {
  const log: string[] = [];
  const references = {
    take: (buffer: number): number => {
      log.push(`take ${buffer}`);
      return buffer + 1000;
    },
    drop: (buffer: number): void => void log.push(`drop ${buffer}`),
  };
  return { references, log };
}

describe("buffers that are read in place", () => {
  it("are freed when the last reader has released them, and once", () => {
    const { references, log } = counted();
    const place = new InPlace(references, "viewer");
    const [first, second] = [place.lend(7), place.lend(7)];
    expect(first).toMatchObject({ address: 1007, viewer: "viewer" });
    expect(place.postpones(7, () => log.push("free 7"))).toBe(true);
    first?.release();
    first?.release();
    expect(log).toEqual(["take 7", "take 7", "drop 7"]);
    second?.release();
    expect(log).toEqual(["take 7", "take 7", "drop 7", "drop 7", "free 7"]);
    expect(place.postpones(7, () => undefined)).toBe(false);
  });

  it("are left alone where nobody freed them, and others are freed at once", () => {
    const { references, log } = counted();
    const place = new InPlace(references, "viewer");
    const memory = place.lend(7);
    expect(place.postpones(8, () => undefined)).toBe(false);
    memory?.release();
    expect(log).toEqual(["take 7", "drop 7"]);
  });

  it("are not lent where the plugin does not keep them", () => {
    const { references } = counted();
    expect(new InPlace({ ...references, take: () => 0 }, "viewer").lend(7)).toBeUndefined();
  });
});
