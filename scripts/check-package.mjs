// Checks the package as users get it: packs it, lets publint and attw judge it, unpacks it and uses each entry.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
// Inside the checkout, so that the unpacked package finds its dependencies in the checkout's node_modules.
const work = join(root, ".cache/package");
const unpacked = join(work, "node_modules/espalier");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const npm = /npm-cli\.[cm]?js$/.test(process.env.npm_execpath ?? "")
  ? (...args) => output(root, process.execPath, process.env.npm_execpath, ...args)
  : (...args) => output(root, "npm", ...args);

rmSync(work, { recursive: true, force: true });
mkdirSync(unpacked, { recursive: true });

npm("run", "build");
// npm's notices and prepack's output are left out: the last line is the file's name.
const packed = npm("pack", "--silent", "--ignore-scripts", "--pack-destination", work)
  .trim()
  .split("\n")
  .at(-1);
const tarball = join(work, packed);
execFileSync("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"]);

show(tool("publint"), tarball, "--strict");
show(tool("attw"), tarball, "--profile", "esm-only", "--format", "ascii");

for (const subpath of Object.keys(manifest.exports).filter((name) => name !== "./package.json")) {
  const name = `espalier${subpath.slice(1)}`;
  const count = `console.log(Object.keys(await import(${JSON.stringify(name)})).length)`;
  const names = Number(output(work, process.execPath, "--input-type=module", "--eval", count));
  console.log(`import "${name}": ${names} names`);
}
// The README's first example, typed by what the package promises.
const [, example] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8"));
writeFileSync(join(work, "example.mts"), example);
const strict = ["--strict", "--noEmit", "--skipLibCheck", "--ignoreConfig"];
const modern = ["--module", "nodenext", "--target", "es2022", "--lib", "es2023,esnext.disposable"];
const known = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
show(tool("tsc"), ...strict, ...modern, ...known, join(work, "example.mts"));
console.log("the README's example has the types the package promises");

for (const [name, file] of Object.entries(manifest.bin)) {
  const version = output(work, process.execPath, join(unpacked, file), "--version").trim();
  if (version !== manifest.version) throw new Error(`${name} --version printed ${version}`);
  console.log(`${name} --version: ${version}`);
  const { entries } = JSON.parse(
    output(work, process.execPath, join(unpacked, file), "engine", "list", "--json"),
  );
  console.log(`${name} engine list: ${entries.map(({ engine, kind }) => `${engine} (${kind})`).join(", ")}`);
}

function tool(name) {
  return join(root, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);
}

function output(cwd, file, ...args) {
  return execFileSync(file, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function show(file, ...args) {
  execFileSync(file, args, { cwd: root, stdio: "inherit" });
}
