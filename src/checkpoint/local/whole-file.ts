import type { FileSystem } from "./file-system.ts";

/** Writes a small file so that it lasts. */
export async function writeWhole(fs: FileSystem, path: string, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  const file = await fs.create(path);
  try {
    for (let at = 0; at < bytes.length; ) {
      const taken = await file.write(bytes.subarray(at), at);
      if (taken === 0) throw Object.assign(new Error("nothing more was taken"), { code: "ENOSPC" });
      at += taken;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Reads a small file. */
export async function readWhole(fs: FileSystem, path: string): Promise<string> {
  const file = await fs.open(path);
  try {
    return new TextDecoder().decode(await readExactly(file, 0, file.size));
  } finally {
    await file.close();
  }
}

/** So many bytes from a position; an error where the file ends before. */
export async function readExactly(
  file: { read(target: Uint8Array, position: number): Promise<number> },
  from: number,
  length: number,
  bytes: Uint8Array = new Uint8Array(length),
): Promise<Uint8Array> {
  for (let at = 0; at < length; ) {
    const more = await file.read(bytes.subarray(at), from + at);
    if (more === 0) throw Object.assign(new Error("the file ended early"), { code: "TRUNCATED" });
    at += more;
  }
  return bytes;
}
