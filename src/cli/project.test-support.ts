import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Installs the package from its sources: each of its doors is a module that passes on the door in src. */
export function installSources(project: string): void {
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "espalier"), { recursive: true });
  symlinkSync(join(root, "node_modules/tsx"), join(modules, "tsx"));
  const doors = Object.entries(manifest.exports).flatMap(([door, target]) =>
    typeof target === "string"
      ? []
      : [[door, join(root, target.default.replace("./dist", "src").replace(/js$/, "ts"))] as const],
  );
  const exports = Object.fromEntries(
    doors.map(([door, source]) => {
      const file = `./${door.slice(2) || "index"}.js`;
      writeFileSync(join(modules, "espalier", file), `export * from ${JSON.stringify(source)};\n`);
      return [door, file];
    }),
  );
  writeFileSync(
    join(modules, "espalier/package.json"),
    JSON.stringify({ name: "espalier", version: manifest.version, type: "module", exports }),
  );
}
