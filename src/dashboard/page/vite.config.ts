import { defineConfig } from "vite";

// The page as files: one document, one script, one style, with hashes in their names. scripts/build-page.mjs runs it.
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  esbuild: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    emptyOutDir: true,
    assetsDir: "assets",
    // No request beside the document, the script and the style.
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
});
