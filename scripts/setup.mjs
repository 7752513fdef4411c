// Brings node_modules in step with package-lock.json, so that every npm script works on a fresh clone.
// Plain Node without dependencies: it runs before there are any. Silent when there is nothing to do.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = [20, 16];
const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * What is missing from an installed tree, or undefined when nothing is. npm writes `.package-lock.json` into
 * node_modules as the last act of an install, so an interrupted install counts as none.
 */
function whatIsMissing() {
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  let installed;
  try {
    installed = JSON.parse(readFileSync(join(root, "node_modules/.package-lock.json"), "utf8")).packages;
  } catch {
    return "node_modules is missing";
  }
  for (const [place, entry] of Object.entries(wanted)) {
    if (place === "") continue;
    const have = installed[place];
    if (have === undefined) {
      // Optional packages are for some platforms only: npm leaves the others out.
      if (!entry.optional) return `${place} is missing`;
    } else if (have.version !== entry.version || have.integrity !== entry.integrity) {
      return `${place} is ${have.version}, ${entry.version} is wanted`;
    }
  }
  return undefined;
}

function install() {
  // npm's own settings reach its scripts through the environment: say what must hold whatever they are.
  const settings = [
    "--include=dev",
    "--include=optional",
    "--ignore-scripts",
    "--loglevel=error",
    "--no-progress",
  ];
  const viaNpm = /npm-cli\.[cm]?js$/.test(process.env.npm_execpath ?? "");
  const [command, ...before] = viaNpm ? [process.execPath, process.env.npm_execpath] : ["npm"];
  const result = spawnSync(command, [...before, "ci", ...settings], {
    cwd: root,
    // What npm prints must not mix with what the command after us prints, which may be piped.
    stdio: ["ignore", "pipe", "inherit"],
    shell: !viaNpm && process.platform === "win32",
  });
  return result.status === 0;
}

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`espalier needs Node ${OLDEST_NODE.join(".")} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
const missing = whatIsMissing();
if (missing !== undefined) {
  console.error(`setup: ${missing}; running npm ci`);
  if (!install()) {
    console.error("setup: npm ci failed; its message is above. It needs the network, once.");
    process.exit(1);
  }
}
