import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../compiler-options.ts";
import { output } from "./checks.ts";

/** The tsx that projects get beside the package: it runs TypeScript where Node cannot. */
export const tsx = `tsx@${manifest.devDependencies.tsx}`;

/** Builds the package and packs the archive that would be published into a folder. */
export async function pack(folder: string): Promise<{ readonly archive: string; readonly bytes: number }> {
  await output(["npm", "run", "build"], { cwd: root });
  const command = ["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [{ filename, size }] = JSON.parse(await output(command, { cwd: root }));
  return { archive: join(folder, filename), bytes: size };
}

/** Makes a project of its own with these packages. */
export async function install(folder: string, ...packages: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await output(["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", ...packages], {
    cwd: folder,
  });
}
