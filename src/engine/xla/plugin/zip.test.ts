import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openZip, type ZipEntry } from "./zip.ts";
import { makeZip, type ZipSource } from "./zip-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-zip-"));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
const save = (bytes: Uint8Array) => {
  const path = join(folder, `${count++}.zip`);
  writeFileSync(path, bytes);
  return path;
};

const read = async (entry: ZipEntry | undefined) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry?.chunks() ?? []) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const long = "all work and no play ".repeat(20_000);
const sources: readonly ZipSource[] = [
  { name: "stored.txt", content: Buffer.from("as it is") },
  { name: "folder/déflated.txt", content: Buffer.from(long), deflate: true },
  { name: "empty", content: new Uint8Array(0) },
];

const invalid = (message: RegExp) =>
  expect.objectContaining({ code: "WHEEL_INVALID", message: expect.stringMatching(message) });

describe("openZip", () => {
  it.each(["", "a comment at the end"])(
    "reads stored, deflated and empty files (comment «%s»)",
    async (comment) => {
      const entries = await openZip(save(makeZip(sources, comment)));
      expect(entries.map(({ name, bytes }) => [name, bytes])).toEqual([
        ["stored.txt", 8],
        ["folder/déflated.txt", long.length],
        ["empty", 0],
      ]);
      expect(await Promise.all(entries.map(read))).toEqual(["as it is", long, ""]);
    },
  );

  it("notices a changed byte in a stored file", async () => {
    const archive = makeZip(sources);
    archive.write("X", archive.indexOf("as it is"));
    await expect(read((await openZip(save(archive)))[0])).rejects.toThrow(
      invalid(/stored\.txt fails its checksum/),
    );
  });

  it("notices damage in a deflated file", async () => {
    const archive = makeZip(sources);
    archive.fill(0xff, archive.indexOf("extra", 60) + 15, archive.indexOf("extra", 60) + 60);
    await expect(read((await openZip(save(archive)))[1])).rejects.toThrow(invalid(/déflated\.txt/));
  });

  it("notices an archive that is cut off, or is none", async () => {
    const archive = makeZip(sources);
    await expect(openZip(save(archive.subarray(0, -30)))).rejects.toThrow(invalid(/no directory/));
    await expect(openZip(save(archive.subarray(100)))).rejects.toThrow(
      invalid(/cut off or damaged|directory/),
    );
    await expect(openZip(save(Buffer.from("<html>")))).rejects.toThrow(invalid(/no zip/));
    await expect(openZip(save(Buffer.alloc(0)))).rejects.toThrow(invalid(/no zip/));
  });

  it("refuses encrypted files", async () => {
    const archive = makeZip([{ name: "secret", content: Buffer.from("x"), flags: 1 }]);
    await expect(read((await openZip(save(archive)))[0])).rejects.toThrow(invalid(/secret is encrypted/));
  });
});
