import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import turbo from "@julusian/jpeg-turbo";
import { createLoader, type ExampleArray, imageFolder } from "../../src/data/index.ts";
import type { CountedFigure, TimedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";
import { freshFolder } from "../harness/scratch.ts";

const quick = process.argv.includes("--quick");
const set = { files: quick ? 4000 : 100_000, size: 128, batch: 64, workers: 2 };
const different = 200;

/** Files of some hundred images, in ten classes, as cameras write them: a color for four pixels. */
function written(): string {
  const { size, files } = set;
  const folder = freshFolder("images");
  const images = Array.from({ length: different }, (_, k) => {
    const data = Buffer.alloc(size * size * 4, 255);
    for (let i = 0; i < size * size; i++) {
      const [x, y] = [i % size, Math.floor(i / size)];
      data[4 * i] = 128 + 127 * Math.sin((x + k) / 7);
      data[4 * i + 1] = 128 + 127 * Math.cos((y * k) / 50);
      data[4 * i + 2] = (x * y + k * 13) % 256;
    }
    const { FORMAT_RGBA: format, SAMP_420: subsampling } = turbo;
    return turbo.compressSync(data, { format, width: size, height: size, subsampling, quality: 85 });
  });
  for (let i = 0; i < files; i++) {
    const path = join(folder, String(i % 10));
    if (i < 10) mkdirSync(path);
    writeFileSync(join(path, `${i}.jpg`), images[i % different] as Buffer);
  }
  return folder;
}

const folder = (() => {
  let made: string | undefined;
  return () => {
    made ??= written();
    return made;
  };
})();

/** Epochs of images in files, decoded and scaled by worker threads. */
const byDecoder = (decoder: "built-in" | "jpeg-turbo"): TimedFigure => ({
  kind: "timed",
  name: `${set.files.toLocaleString("en")} JPEGs of 128x128 in batches of 64, decoded by 2 workers into reused memory (${decoder})`,
  engine: "host",
  unit: "s",
  steps: 1,
  rounds: 1,
  ours: async () => {
    const data = imageFolder(folder(), { decoder });
    // As training does: each batch is done with when the next one is asked for.
    const loader = createLoader(data, { batchSize: set.batch, workers: set.workers, reuse: true });
    return {
      run: async () => {
        const start = performance.now();
        let sum = 0;
        for await (const { x } of loader) sum += (x as ExampleArray).data[0] as number;
        if (!(sum > 0)) throw new Error("the images are black");
        return (performance.now() - start) / 1000;
      },
      dispose: () => loader.close(),
    };
  },
  peers: {
    torch: {
      script: "torch_loading.py",
      case: "images",
      params: {
        get root() {
          return folder();
        },
        batch: set.batch,
        workers: set.workers,
      },
    },
  },
  bars: [{ kind: "ratio", against: "torch", atMost: 1 }],
});

const memory: CountedFigure = {
  kind: "counted",
  name: `resident memory that a stream of ${set.files.toLocaleString("en")} JPEGs adds to the program and its 2 workers (built-in)`,
  engine: "host",
  unit: "MB",
  ours: () =>
    inFreshProcess<number>(new URL("./image-memory.ts", import.meta.url), [
      folder(),
      String(set.batch),
      String(set.workers),
    ]),
  bars: [{ kind: "absolute", atMost: 300 }],
};

export const imagesOnWorkers: readonly (TimedFigure | CountedFigure)[] = [
  byDecoder("built-in"),
  byDecoder("jpeg-turbo"),
  memory,
];
