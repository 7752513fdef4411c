import {
  EspalierError,
  emitWarning,
  node,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import { Dataset, type Pass } from "./dataset.ts";
import { type BatchMemory, batchArrays, type ExampleArrays } from "./example.ts";
import { absolutePath } from "./text-files.ts";

// A folder of images, one folder of it for each class:
//
//   pets/cat/1.png  pets/cat/2.jpg  pets/dog/1.jpg   ->   { x: { data, shape: [height, width, channels] }, y: 0 or 1 }
//
//   read -> decode (PNG: fast-png, JPEG: mozjpeg in wasm or jpeg-turbo, or all by sharp) -> channels -> size -> 0 to 1

const table = {
  /** Height and width that all images get; the proportions are not kept. Default: their own. */
  size: option.either(
    option.integer({ min: 1 }),
    option.made<readonly [height: number, width: number]>(
      "[height, width]",
      (value) =>
        Array.isArray(value) && value.length === 2 && value.every((n) => Number.isSafeInteger(n) && n > 0),
      {},
    ),
    {},
  ),
  /** 1 for grey, 3 for colors. Default: 3. */
  channels: option.made<1 | 3, { readonly default: 3 }>("1 or 3", (value) => value === 1 || value === 3, {
    default: 3,
  }),
  /** Pixels as f32 from 0 to 1, or as bytes from 0 to 255. Default: "f32". */
  dtype: option.oneOf(["f32", "u8"], { default: "f32" }),
  /**
   * Packages that decode natively, with slightly other numbers, once they are installed (see docs/data.md): "jpeg-turbo"
   * is the fastest for JPEG, "sharp" for photographs that are made smaller. Default: "built-in".
   */
  decoder: option.oneOf(["built-in", "jpeg-turbo", "sharp"], { default: "built-in" }),
};
type ImageSettings = Settings<typeof table>;

/** Options of {@link imageFolder}. */
export interface ImageFolderOptions extends Options<typeof table> {}

/** An image and the number of its class. */
export interface ImageExample {
  readonly x: { readonly data: Float32Array | Uint8Array; readonly shape: readonly [number, number, 1 | 3] };
  readonly y: { readonly data: Int32Array; readonly shape: readonly [] };
}

/** A dataset of {@link imageFolder}: the names of its classes, and the class of each image. */
export interface ImageDataset extends Dataset<ImageExample> {
  readonly classes: readonly string[];
  readonly labels: Int32Array;
}

/**
 * The images of a folder (PNG and JPEG) by number, sorted by name. The folders in it are the classes, sorted as well.
 *
 * @example
 * ```ts
 * const pets = imageFolder("pets", { size: 64 });
 * pets.classes; // ["cat", "dog"]
 * const { train, validation } = pets.split({ train: 0.9, validation: 0.1 }, { stratify: pets.labels });
 * ```
 */
export function imageFolder(path: string | URL, options: ImageFolderOptions = {}): ImageDataset {
  const settings = resolveOptions("imageFolder", options, table);
  const root = absolutePath(path);
  const { classes, labels, fileOf } = imagesIn(root);
  const name = node.path.basename(root);
  const image = (index: number): Promise<Pixels> => {
    const file = fileOf(index);
    return decoded(file, node.fs.readFileSync(node.path.join(root, file)), settings);
  };
  const { channels, dtype, decoder } = settings;
  const arrayOf = (length: number): Float32Array | Uint8Array =>
    dtype === "u8" ? new Uint8Array(length) : new Float32Array(length);
  let first: Promise<Pixels> | undefined;
  // Straight into the batch's memory. sharp decodes many at once, on threads of its own, and does not come here.
  const gather = async (
    rows: Int32Array,
    _pass: Pass,
    memory?: BatchMemory,
  ): Promise<ExampleArrays | undefined> => {
    try {
      first ??= image(0);
      const { height, width } = await first;
      const size = height * width * channels;
      const parts = [
        { size, type: dtype === "u8" ? Uint8Array : Float32Array },
        { size: 1, type: Int32Array },
      ];
      const [data, classes] = batchArrays(parts, rows.length, memory) as [
        Float32Array | Uint8Array,
        Int32Array,
      ];
      for (const [i, row] of rows.entries()) {
        const pixels = await image(row);
        if (pixels.height !== height || pixels.width !== width) return undefined;
        write(pixels, channels, data, i * size);
        classes[i] = labels[row] as number;
      }
      return {
        x: { data, shape: [rows.length, height, width, channels] },
        y: { data: classes, shape: [rows.length] },
      };
    } catch {
      return undefined; // Asked for one by one, the bad image is named, or left out.
    }
  };
  const images = new Dataset<ImageExample>({
    name,
    length: labels.length,
    recipe: { kind: "imageFolder", args: [root, options] },
    get: async (index) => {
      const pixels = await image(index);
      const shape = [pixels.height, pixels.width, channels] as const;
      const data = arrayOf(pixels.height * pixels.width * channels);
      write(pixels, channels, data, 0);
      return { x: { data, shape }, y: { data: labels.slice(index, index + 1), shape: [] } };
    },
    gather: decoder === "sharp" ? undefined : gather,
  });
  return Object.assign(images, { classes, labels });
}

/** The images in the folders of a folder, in order: their classes, and their paths within it. */
interface FoundImages {
  readonly classes: readonly string[];
  readonly labels: Int32Array;
  fileOf(index: number): string;
}

function imagesIn(root: string): FoundImages {
  const { fs, path } = node;
  const [files, labels, others]: [string[], number[], string[]] = [[], [], []];
  const classes: string[] = [];
  const kindOf = (within: string) => fs.statSync(path.join(root, within), { throwIfNoEntry: false });
  if (!kindOf("")?.isDirectory())
    throw new EspalierError("DATA_FILE_MISSING", `there is no directory ${root}`, {
      fix: "check the path, which is taken from the directory that the program runs in",
    });
  for (const name of fs.readdirSync(root).sort()) {
    const isFolder = kindOf(name)?.isDirectory() === true;
    const folder = path.join(root, name);
    const inside = isFolder ? fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort() : [""];
    for (const file of inside) {
      const within = path.join(name, file);
      // Hidden ones are of the system, as ._1.jpg beside each 1.jpg from a Mac.
      if (within.split(path.sep).some((step) => step.startsWith("."))) continue;
      if (isFolder && /\.(png|jpe?g)$/i.test(file)) {
        if (classes.at(-1) !== name) classes.push(name);
        files.push(within);
        labels.push(classes.length - 1);
      } else if (kindOf(within)?.isFile()) others.push(within);
    }
  }
  if (files.length === 0)
    throw new EspalierError("DATA_EMPTY", `there are no images in the folders of ${root}`, {
      fix: "put PNG or JPEG files into one folder for each class: pets/cat/1.png, pets/dog/1.png",
    });
  if (others.length > 0)
    emitWarning(
      `${root}: ${others.length} files are no PNG or JPEG in the folder of a class, and are left out: ${others.slice(0, 3).join(", ")}`,
      "DATA_FILES_SKIPPED",
    );
  // One text for all paths. As 100,000 texts the garbage collector would look at them again for every few batches.
  const text = files.join("");
  const ends = new Float64Array(files.length + 1);
  files.forEach((file, i) => {
    ends[i + 1] = (ends[i] as number) + file.length;
  });
  return { classes, labels: Int32Array.from(labels), fileOf: (i) => text.slice(ends[i], ends[i + 1]) };
}

/** Levels up to 255, row by row, channels beside each other. */
interface Pixels {
  readonly data: Uint8Array | Float32Array;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** The image in a file, in the size that is asked for. */
async function decoded(file: string, bytes: Uint8Array, settings: ImageSettings): Promise<Pixels> {
  const { channels, decoder } = settings;
  let image: Pixels;
  try {
    image = decoder === "sharp" ? await bySharp(bytes, settings) : await byKind(bytes, decoder);
  } catch (cause) {
    if (cause instanceof EspalierError && cause.code === "PACKAGE_MISSING") throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EspalierError("DATA_CORRUPT", `the image ${file} cannot be decoded: ${why}`, {
      fix: "replace the file or take it out, or leave such images out: images.skipBad(), or the loader's onBadExample",
      cause,
    });
  }
  const { height, width } = image;
  const [h = height, w = width] = sizeOf(settings);
  if (h === height && w === width) return image;
  const levels = new Uint8Array(height * width * channels);
  write(image, channels, levels, 0);
  return { data: resized(levels, height, width, h, w, channels), channels, height: h, width: w };
}

/**
 * Writes pixels as bytes, or as numbers from 0 to 1: grey (ITU-R 601, as Pillow's) or colors, without transparency.
 * Where there is one channel, it is all three.
 */
function write(
  { data, channels: from }: Pixels,
  to: 1 | 3,
  target: Uint8Array | Float32Array,
  at: number,
): void {
  // The way of most images. A table: to divide each level would take as long as to decode it.
  if (to === 3 && from >= 3 && data instanceof Uint8Array && target instanceof Float32Array) {
    for (let k = 0, i = at; k < data.length; k += from, i += 3) {
      target[i] = units[data[k] as number] as number;
      target[i + 1] = units[data[k + 1] as number] as number;
      target[i + 2] = units[data[k + 2] as number] as number;
    }
    return;
  }
  const [unit, half] = target instanceof Float32Array ? [255, 0] : [1, 0.5];
  const [g, b] = from < 3 ? [0, 0] : [1, 2];
  for (let k = 0, i = at; k < data.length; k += from, i += to) {
    const [red, green, blue] = [data[k] as number, data[k + g] as number, data[k + b] as number];
    if (to === 1)
      target[i] = (from < 3 ? red + half : (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16) / unit;
    else {
      target[i] = (red + half) / unit;
      target[i + 1] = (green + half) / unit;
      target[i + 2] = (blue + half) / unit;
    }
  }
}

const units = Float32Array.from({ length: 256 }, (_, level) => level / 255);

const sizeOf = ({ size }: ImageSettings): readonly number[] =>
  typeof size === "number" ? [size, size] : (size ?? []);

async function byKind(bytes: Uint8Array, decoder: "built-in" | "jpeg-turbo"): Promise<Pixels> {
  if (bytes[0] === 0xff && bytes[1] === 0xd8) {
    const turbo = decoder === "jpeg-turbo" ? await optionalPackage(decoder) : undefined;
    try {
      if (turbo) return { ...turbo.decompressSync(bytes, { format: turbo.FORMAT_RGB }), channels: 3 };
    } catch {
      // It refuses whatever libjpeg warns of, harmless bytes too: the other one tells them apart.
    }
    jpegDecoder ??= makeJpegDecoder();
    const { data, width, height } = (await jpegDecoder)(bytes);
    return { data, channels: 4, width, height };
  }
  const { decode, convertIndexedToRgb, hasPngSignature } = await import("fast-png");
  if (!hasPngSignature(bytes)) throw new Error("it is neither PNG nor JPEG");
  const png = decode(bytes, { checkCrc: true });
  const { width, height, depth } = png;
  if (png.palette) {
    const data = Uint8Array.from(convertIndexedToRgb(png));
    return { data, channels: data.length / (width * height), width, height };
  }
  const full = depth < 8 ? unpackedBits(png.data, width, height, depth) : png.data;
  const data = full instanceof Uint8Array ? full : Uint8Array.from(full, (n) => n / 257);
  return { data, channels: png.channels, width, height };
}

type JpegDecoder = (bytes: Uint8Array) => Omit<Pixels, "channels">;
let jpegDecoder: Promise<JpegDecoder> | undefined;

/** Warnings of libjpeg that say that pixels are missing or wrong; those of bytes between two markers do not. */
const damage = /^Premature end|^Corrupt JPEG data: (?!\d+ extraneous)/;

/** mozjpeg in WebAssembly: the pixels that libjpeg gives, with transparency. */
async function makeJpegDecoder(): Promise<JpegDecoder> {
  const { default: make } = await import("@jsquash/jpeg/codec/dec/mozjpeg_dec.js");
  const { createRequire } = process.getBuiltinModule("node:module");
  const file = createRequire(import.meta.url).resolve("@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm");
  let said: string[] = [];
  const decoder = await make({
    noInitialRun: true,
    printErr: (text: string) => said.push(text),
    wasmBinary: node.fs.readFileSync(file),
  });
  return (bytes) => {
    said = [];
    let image: ReturnType<JpegDecoder> | null = null;
    try {
      const found = decoder.decode(bytes, false);
      // Its bytes are of the clamped kind, which `write` would take the slow way.
      if (found)
        image = {
          width: found.width,
          height: found.height,
          data: new Uint8Array(found.data.buffer, found.data.byteOffset, found.data.length),
        };
    } catch {
      jpegDecoder = undefined; // libjpeg has ended its program, as it does at a damaged header.
    }
    // libjpeg fills what it cannot read with grey or noise, and warns. It warns of harmless bytes too.
    if (image && !said.some((text) => damage.test(text))) return image;
    throw new Error(said.join("; ") || "it is no JPEG");
  };
}

/** Pixels of less than 8 bits, which come several to a byte, each row beginning with a byte. */
function unpackedBits(data: ArrayLike<number>, width: number, height: number, depth: number): Uint8Array {
  const [each, rowBytes, most] = [8 / depth, Math.ceil((width * depth) / 8), 2 ** depth - 1];
  return Uint8Array.from({ length: width * height }, (_, i) => {
    const [y, x] = [Math.floor(i / width), i % width];
    const byte = data[y * rowBytes + Math.floor(x / each)] as number;
    return (((byte >> (8 - depth * ((x % each) + 1))) & most) * 255) / most;
  });
}

/** Another size, bilinear with antialiasing as Pillow's: columns first, then rows. */
function resized(
  data: Uint8Array,
  height: number,
  width: number,
  h: number,
  w: number,
  channels: number,
): Float32Array {
  const across = alongAxis(data, height, width, channels, kernelOf(width, w));
  return alongAxis(across, 1, height, w * channels, kernelOf(height, h));
}

/** For each new place, the first old one that counts, and how much it and those after it do. */
type Kernel = readonly { readonly from: number; readonly weights: Float64Array }[];

/** Resizes the middle one of three axes. */
function alongAxis(
  data: ArrayLike<number>,
  outer: number,
  length: number,
  inner: number,
  kernel: Kernel,
): Float32Array {
  const out = new Float32Array(outer * kernel.length * inner);
  let at = 0;
  for (let o = 0; o < outer; o++)
    for (const { from, weights } of kernel) {
      const start = (o * length + from) * inner;
      for (let i = 0; i < inner; i++) {
        let sum = 0;
        for (let k = 0; k < weights.length; k++)
          sum += (weights[k] as number) * (data[start + k * inner + i] as number);
        out[at++] = sum;
      }
    }
  return out;
}

/** Kernels by their sizes: images of a folder have few. */
const kernels = new Map<string, Kernel>();

function kernelOf(from: number, to: number): Kernel {
  const name = `${from} ${to}`;
  const known = kernels.get(name);
  if (known) return known;
  const scale = from / to;
  const reach = Math.max(scale, 1);
  const kernel = Array.from({ length: to }, (_, i) => {
    const center = (i + 0.5) * scale;
    const first = Math.max(0, Math.floor(center - reach + 0.5));
    const end = Math.min(from, Math.floor(center + reach + 0.5));
    const weights = Float64Array.from({ length: end - first }, (__, k) =>
      Math.max(0, 1 - Math.abs((first + k + 0.5 - center) / reach)),
    );
    const sum = weights.reduce((a, b) => a + b);
    return { from: first, weights: weights.map((weight) => weight / sum) };
  });
  if (kernels.size > 1000) kernels.clear();
  kernels.set(name, kernel);
  return kernel;
}

/** Decodes and resizes by sharp. */
async function bySharp(bytes: Uint8Array, settings: ImageSettings): Promise<Pixels> {
  const sharp = await optionalPackage("sharp");
  const image = sharp(bytes).removeAlpha().toColourspace("srgb");
  const [h, w] = sizeOf(settings);
  const sized = h && w ? image.resize(w, h, { fit: "fill", kernel: "linear" }) : image;
  const { data, info } = await sized.raw().toBuffer({ resolveWithObject: true });
  return { data, channels: info.channels, width: info.width, height: info.height };
}

const packages = { sharp: "sharp", "jpeg-turbo": "@julusian/jpeg-turbo" } as const;
const loadedPackages: { -readonly [decoder in keyof typeof packages]?: Promise<unknown> } = {};

/** A decoder that a program installs if it wants it. */
function optionalPackage(decoder: "sharp"): Promise<Sharp>;
function optionalPackage(decoder: "jpeg-turbo"): Promise<JpegTurbo>;
function optionalPackage(decoder: keyof typeof packages): Promise<unknown> {
  const name: string = packages[decoder]; // Not known to bundlers: most programs do not have it.
  loadedPackages[decoder] ??= import(/* @vite-ignore */ name).then(
    (loaded: { readonly default: unknown }) => loaded.default,
    (cause: unknown) => {
      throw new EspalierError("PACKAGE_MISSING", `imageFolder: the decoder ${decoder} is not installed`, {
        fix: `run \`npm install ${name}\`, or leave out decoder: "${decoder}"`,
        cause,
      });
    },
  );
  return loadedPackages[decoder];
}

/** The part of jpeg-turbo that is used. */
interface JpegTurbo {
  readonly FORMAT_RGB: number;
  decompressSync(bytes: Uint8Array, options: { readonly format: number }): Omit<Pixels, "channels">;
}

/** The part of sharp that is used. */
type Sharp = (bytes: Uint8Array) => SharpImage;
interface SharpImage {
  removeAlpha(): SharpImage;
  toColourspace(space: string): SharpImage;
  resize(width: number, height: number, options: object): SharpImage;
  raw(): SharpImage;
  toBuffer(options: { readonly resolveWithObject: true }): Promise<{
    readonly data: Uint8Array;
    readonly info: { readonly width: number; readonly height: number; readonly channels: number };
  }>;
}
