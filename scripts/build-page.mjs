// Builds the dashboard's page into a directory: node scripts/build-page.mjs dist/dashboard/page
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error("say where to: node scripts/build-page.mjs DIRECTORY");
await build({
  configFile: fileURLToPath(new URL("../src/dashboard/page/vite.config.ts", import.meta.url)),
  logLevel: "error",
  build: { outDir: resolve(out) },
});
