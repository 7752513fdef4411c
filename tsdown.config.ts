import { defineConfig } from "tsdown";
import manifest from "./package.json" with { type: "json" };

// The entries are what package.json promises: `./dist/a/b.js` is built from `src/a/b.ts`.
const promised = Object.values(manifest.exports)
  .flatMap((target) => (typeof target === "string" ? [] : [target.default]))
  .concat(Object.values(manifest.bin).map((path) => `./${path}`));

// The files of worker threads and processes, by their places in dist: src/engine/run/threads.ts finds them.
const threads = [
  "./dist/engine/xla/compile-thread.js",
  "./dist/checkpoint/store/file-thread-main.js",
  "./dist/metrics/health/watchdog-thread.js",
  "./dist/data/loading/thread-main.js",
  "./dist/rl/vector/threads/thread-main.js",
  "./dist/rl/evaluation/thread-main.js",
  "./dist/language/reward-thread.js",
  "./dist/rollout/process-main.js",
  "./dist/rollout/trainer-watch.js",
];

export default defineConfig({
  entry: {
    ...Object.fromEntries(
      [...promised, ...threads].map((file) => {
        const name = file.replace(/^\.\/dist\//, "").replace(/\.js$/, "");
        return [name, `src/${name}.ts`];
      }),
    ),
    "engine/run/thread-boot": "src/engine/run/thread-boot.mjs",
  },
  format: "esm",
  platform: "node",
  target: "node20",
  // What is marked @internal is not promised, and would drag the types of jax-js into ours.
  dts: { compilerOptions: { stripInternal: true } },
  // Tensors are disposable; a project that targets ES2022 does not know such types by itself.
  banner: { dts: '/// <reference lib="esnext.disposable" />' },
  sourcemap: true,
  clean: true,
  fixedExtension: false,
  // publint and attw run on the packed package, by `npm run check:installed`.
  publint: false,
  attw: false,
});
