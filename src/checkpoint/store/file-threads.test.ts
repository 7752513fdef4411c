import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createHashed, FileThread, hashFile } from "./file-threads.ts";
import { piece } from "./hashed.ts";

const folder = mkdtempSync(join(tmpdir(), "in-place-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Stands for the module that views memory: an address is the number that all bytes there have; 13 cannot be seen. */
const viewer = join(folder, "viewer.cjs");
writeFileSync(
  viewer,
  `let views = 0;
  exports.view = (address, bytes) => {
    if (address === 13 && views++ > 0) throw new Error("nothing to see");
    return new Uint8Array(bytes).fill(address).buffer;
  };`,
);

describe("memory written where it lies", () => {
  it("comes in its place between other chunks, and is released when it has been read", async () => {
    const file = await createHashed(join(folder, "three"));
    const released: number[] = [];
    const memory = (address: number) => ({ address, viewer, release: () => void released.push(address) });
    await file.write(new Uint8Array([1]));
    expect(await file.writeInPlace?.(memory(2), 5_000_000)).toBe(true);
    await file.write(new Uint8Array([3]));
    expect(await file.writeInPlace?.(memory(4), 2)).toBe(true);
    const { bytes, sha256 } = await file.close();
    expect(released).toEqual([2, 4]);
    const whole = Buffer.concat(
      [[1], new Uint8Array(5_000_000).fill(2), [3, 4, 4]].map((x) => Buffer.from(x)),
    );
    expect(bytes).toBe(whole.length);
    expect(sha256).toBe(createHash("sha256").update(whole).digest("hex"));
    expect(Buffer.compare(readFileSync(join(folder, "three")), whole)).toBe(0);
  });

  it("is refused, and not released, where nothing can view it", async () => {
    const file = await createHashed(join(folder, "refused"));
    const release = () => expect.fail("it is still the caller's");
    const memory = { address: 1, viewer: join(folder, "missing.cjs"), release };
    expect(await file.writeInPlace?.(memory, 8)).toBe(false);
    await file.write(new Uint8Array([5]));
    expect(await file.close()).toMatchObject({ bytes: 1 });
  });

  it("that cannot be seen after all fails the file, and is released", async () => {
    const file = await createHashed(join(folder, "failing"));
    let released = false;
    const release = () => {
      released = true;
    };
    // Seen once, when it is tried out.
    const other = join(folder, "other.cjs");
    writeFileSync(other, readFileSync(viewer));
    expect(await file.writeInPlace?.({ address: 13, viewer: other, release }, 8)).toBe(true);
    await expect(file.close()).rejects.toThrow("nothing to see");
    expect(released).toBe(true);
    expect(await file.writeInPlace?.({ address: 1, viewer, release }, 8)).toBe(false);
    await file.abandon();
  });
});

describe("a file thread", () => {
  it("hands on what the system says, with its code", async () => {
    const thread = new FileThread();
    const create = thread.file()("create", join(folder, "nowhere", "file"));
    await expect(create).rejects.toMatchObject({ code: "ENOENT" });
    await expect(thread.file()("write", new Uint8Array(1))).rejects.toThrow(/not open/);
  });

  it.each([0, 1, piece, 2 * piece + 3, 3 * piece])("hashes a file of %i bytes", async (bytes) => {
    const data = Uint8Array.from({ length: bytes }, (_, i) => i % 251);
    const path = join(folder, `hashed-${bytes}`);
    writeFileSync(path, data);
    expect(await hashFile(path)).toBe(createHash("sha256").update(data).digest("hex"));
  });
});
