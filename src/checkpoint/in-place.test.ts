import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { imageOf } from "./snapshot.ts";
import type { FileWriter } from "./store/store.ts";
import { writeComponent } from "./write-component.ts";

const { view } = createRequire(import.meta.url)("koffi") as { view(at: number, bytes: number): ArrayBuffer };

/** Keeps what is written; takes memory in place so many times. */
function keeping(takes: number) {
  const chunks: Buffer[] = [];
  const sizes: number[] = [];
  const writer: FileWriter = {
    write: async (chunk) => void chunks.push(Buffer.from(chunk)),
    writeInPlace: async ({ address, release }, bytes) => {
      if (sizes.length === takes) return false;
      sizes.push(bytes);
      chunks.push(Buffer.from(Buffer.from(view(address, bytes))));
      release();
      return true;
    },
    close: async () => ({ bytes: 0, sha256: "" }),
  };
  return { writer, sizes, whole: () => Buffer.concat(chunks) };
}

describe.each(testEngines())("a component on %s", (engine) => {
  it("has the same file whether its tensors are copied or written where they lie", async () => {
    const numbers = (size: number) =>
      put(
        Float32Array.from({ length: size }, (_, i) => i),
        { engine },
      );
    const state = [numbers(3), numbers(100_000), numbers(5), numbers(70_000), new Float32Array(90_000)];
    const onHost = engine === "xla" && state[0] && "device" in state[0] && state[0].device.kind === "cpu";
    const files = [0, 1, 2].map((takes) => keeping(takes));
    for (const { writer } of files) await writeComponent("part", imageOf(state, false), writer);
    expect(files.map(({ sizes }) => sizes)).toEqual(
      onHost ? [[], [400_000], [400_000, 280_000]] : [[], [], []],
    );
    for (const { whole } of files) expect(Buffer.compare(whole(), files[0]?.whole() as Buffer)).toBe(0);
    expect(files[0]?.whole().length).toBeGreaterThan(4 * 260_008);
  });
});
