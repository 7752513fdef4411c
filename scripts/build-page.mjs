// Builds the dashboard's page into a directory: node scripts/build-page.mjs dist/dashboard/page
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error("say where to: node scripts/build-page.mjs DIRECTORY");
// One document, one script, one style, with hashes in their names.
await build({
  configFile: false,
  root: fileURLToPath(new URL("../src/dashboard/page", import.meta.url)),
  base: "./",
  logLevel: "error",
  esbuild: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: resolve(out),
    target: "es2022",
    // Those that know light-dark().
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    emptyOutDir: true,
    assetsDir: "assets",
    // No request beside the document, the script and the style.
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
});
