import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { nodeModules } from "./core/node.ts";

/** The rooms, highest first: a room imports only from rooms above it. */
const ROOMS = [
  "core",
  "engine",
  "state",
  "random",
  "nn",
  "optim",
  "schedule",
  "hooks",
  "losses",
  "learner",
  "trainer",
  "checkpoint",
  "metrics",
  "data",
  "supervised",
  "rl",
  "language",
  "rollout",
  "cluster",
  "config",
  "dashboard",
  "cli",
  "testing",
];

/** Modules of Node by what they reach. */
const COMPUTING = [
  ...["node:crypto", "node:events", "node:path", "node:perf_hooks", "node:readline", "node:stream"],
  ...[
    "node:stream/consumers",
    "node:stream/promises",
    "node:timers/promises",
    "node:url",
    "node:util",
    "node:v8",
    "node:vm",
    "node:zlib",
  ],
];
const FILES = ["node:fs", "node:fs/promises", "node:os"];
const PROCESSES = ["node:child_process", "node:inspector", "node:module", "node:worker_threads"];
const NETWORK = ["node:http", "node:net"];

/**
 * What a room imports beside other rooms. One that is not listed imports nothing: the trainer, hooks, schedules and
 * losses reach neither files nor the network, whatever they are given reaches them.
 */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  // sha256 in plain JavaScript, for browsers.
  // Files: makeDirectory of node.ts alone; threads: the port of thread-calls.ts.
  core: ["node:crypto", "node:fs", "node:path", "node:worker_threads", "@noble/hashes"],
  engine: [...COMPUTING, ...FILES, ...PROCESSES, "koffi", "@jax-js/jax"],
  checkpoint: [...COMPUTING, ...FILES, ...PROCESSES, "@aws-sdk/client-s3"],
  metrics: [
    ...[...COMPUTING, ...FILES, ...PROCESSES, ...NETWORK],
    ...["@photostructure/sqlite", "kysely", "pg", "picocolors"],
  ],
  data: [
    ...[...COMPUTING, ...FILES, ...PROCESSES],
    ...["csv-parse", "hyparquet", "fast-png", "@jsquash/jpeg", "@huggingface/tokenizers"],
  ],
  supervised: ["node:fs", "node:path", "node:url"],
  rl: [...COMPUTING, ...FILES, ...PROCESSES],
  language: ["node:fs", "node:path", "node:url"],
  rollout: [...COMPUTING, ...FILES, ...PROCESSES],
  cluster: [
    ...[...COMPUTING, ...FILES, ...PROCESSES, ...NETWORK],
    ...["@nats-io/transport-node", "@nats-io/jetstream"],
  ],
  config: [...COMPUTING, ...FILES, "node:module", "yaml"],
  dashboard: [...COMPUTING, ...FILES, ...NETWORK, "node:child_process"],
  cli: [...COMPUTING, ...FILES, ...PROCESSES, "commander", "picocolors"],
  testing: COMPUTING,
};

const PACKAGES = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
});
const BUILTINS = new Set(builtinModules);

/** What is wrong with the imports of the file at `path`, relative to src/. */
function faults(path: string, source: string): string[] {
  const room = roomOf(path);
  const imports = [
    ...ts.preProcessFile(source, true, true).importedFiles.map((file) => file.fileName),
    ...[...source.matchAll(/getBuiltinModule\??\.?\(\s*"([^"]+)"/g)].map(([, name = ""]) => name),
    ...[...source.matchAll(/\bnode\.(\w+)/g)].flatMap(([, name = ""]) => reached(name)),
  ];
  return [
    ...(room !== undefined && !ROOMS.includes(room) ? [`${room}/ is not in the list of rooms`] : []),
    ...imports.flatMap((name) =>
      name.startsWith(".") ? relativeFault(path, name) : packageFault(path, name),
    ),
    ...(path === "cli/main.ts" ? [] : sideEffects(path, source)),
    ...(["cli", "config", "dashboard"].includes(room ?? "") ? [] : loadedOfNode(path, source)),
  ];
}

const reached = (name: string): readonly string[] =>
  name in nodeModules ? [nodeModules[name as keyof typeof nodeModules]] : [];

/** Modules of Node that a file loads when it is imported: a browser has none. */
function loadedOfNode(path: string, source: string): string[] {
  return ts
    .createSourceFile(path, source, ts.ScriptTarget.ESNext)
    .statements.flatMap((statement) =>
      ts.isImportDeclaration(statement) && statement.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword
        ? [(statement.moduleSpecifier as ts.StringLiteral).text]
        : [],
    )
    .filter((name) => name.startsWith("node:") && packageFault(path, name).length === 0)
    .map((name) => `${name} is loaded on import: use \`node\` of core`);
}

/** What a file does when it is imported. package.json promises that it does nothing, so bundlers would drop it. */
function sideEffects(path: string, source: string): string[] {
  const { statements } = ts.createSourceFile(path, source, ts.ScriptTarget.ESNext);
  return statements
    .filter(
      (statement) =>
        ts.isExpressionStatement(statement) ||
        ts.isIfStatement(statement) ||
        ts.isTryStatement(statement) ||
        ts.isIterationStatement(statement, true) ||
        (ts.isImportDeclaration(statement) && statement.importClause === undefined),
    )
    .map(
      ({ pos, end }) => `${source.slice(pos, end).trim().split("\n")[0]} is a side effect of importing it`,
    );
}

function relativeFault(path: string, name: string): string[] {
  const target = posix.join(posix.dirname(path), name);
  if (target === "../package.json") return [];
  if (target.startsWith("..")) return [`${name} leaves src/`];
  if (!target.endsWith(".ts")) return [`${name} does not end in .ts`];
  // Names in configuration files are those of users.
  if (path === "config/names.ts" && (target === "index.ts" || target.startsWith("doors/"))) return [];
  const from = roomOf(path);
  const to = roomOf(target);
  if (to === undefined) return [`${name} is the front door: it is for users`];
  if (from === to) return [];
  if (target !== `${to}/index.ts`) return [`${name} does not go through ${to}/index.ts`];
  if (from !== undefined && ROOMS.indexOf(to) > ROOMS.indexOf(from)) return [`${to}/ is below ${from}/`];
  return [];
}

function packageFault(path: string, name: string): string[] {
  if (BUILTINS.has(name)) return [`${name} is written node:${name}`];
  const found = name.startsWith("node:")
    ? name
    : PACKAGES.find((known) => name === known || name.startsWith(`${known}/`));
  if (found === undefined) return [`${name} is not a dependency in package.json`];
  const room = roomOf(path);
  if (room !== undefined && IMPORTS[room]?.includes(found)) return [];
  return [`${found} is not for ${room === undefined ? "the front door" : `${room}/`}`];
}

/** The folder directly under src/, or undefined for the package's doors: src/index.ts and src/doors/. */
function roomOf(path: string): string | undefined {
  return path.includes("/") && !path.startsWith("doors/") ? path.slice(0, path.indexOf("/")) : undefined;
}

function sourceFiles(): readonly string[] {
  return (
    readdirSync(fileURLToPath(new URL(".", import.meta.url)), { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      // The dashboard's page is another program: vite bundles it for browsers, with packages of its own.
      .filter((path) => !path.startsWith("dashboard/page/"))
      .filter((path) => path.endsWith(".ts") && !/\.test(-d|-support)?\.ts$/.test(path))
  );
}

describe("rooms", () => {
  it.each(sourceFiles())("%s imports only what its room may", (path) => {
    expect(faults(path, readFileSync(new URL(path, import.meta.url), "utf8"))).toEqual([]);
  });

  it("finds the files", () => {
    expect(sourceFiles()).toContain("core/index.ts");
    expect(sourceFiles().filter((path) => path.includes(".test"))).toEqual([]);
  });
});

describe("the checker", () => {
  it.each([
    ["core/tree.ts", `import { EspalierError } from "./error.ts";`],
    [
      "engine/xla/client.ts",
      `import { Value } from "../trace/index.ts";\nimport { x } from "../../core/index.ts";`,
    ],
    ["engine/xla/koffi.ts", `const koffi = await import("koffi");`],
    ["engine/wasm/run.ts", `import * as jax from "@jax-js/jax";`],
    ["trainer/loop.ts", `import type { Hook } from "../hooks/index.ts";`],
    ["cli/main.ts", `import { Command } from "commander";\nimport { join } from "node:path";`],
    ["rl/a.ts", `import type { Worker } from "node:worker_threads";\nexport const a = () => node.fs;`],
    ["cli/main.ts", `import manifest from "../../package.json" with { type: "json" };`],
    ["index.ts", `export * from "./core/index.ts";\nexport * from "./testing/index.ts";`],
    ["core/comment.ts", `// import { x } from "../cli/index.ts";\nconst text = 'import "koffi"';`],
  ])("accepts %s: %s", (path, source) => {
    expect(faults(path, source)).toEqual([]);
  });

  it.each([
    ["a lower room", "core/a.ts", `import { x } from "../engine/index.ts";`, "engine/ is below core/"],
    ["a lower room's types", "core/a.ts", `import type { X } from "../cli/index.ts";`, "cli/ is below core/"],
    ["a re-export", "hooks/a.ts", `export * from "../trainer/index.ts";`, "trainer/ is below hooks/"],
    ["a dynamic import", "hooks/a.ts", `const rl = await import("../rl/index.ts");`, "rl/ is below hooks/"],
    ["a type by import()", "hooks/a.ts", `let x: import("../rl/index.ts").X;`, "rl/ is below hooks/"],
    ["a side door", "nn/a.ts", `import { x } from "../core/tree.ts";`, "does not go through core/index.ts"],
    ["a nested door", "nn/a.ts", `import { x } from "../engine/np/index.ts";`, "through engine/index.ts"],
    ["a side door in front", "index.ts", `export * from "./core/tree.ts";`, "through core/index.ts"],
    ["the front door", "nn/a.ts", `import { np } from "../index.ts";`, "it is for users"],
    ["a missing ending", "core/a.ts", `import { x } from "./tree";`, "does not end in .ts"],
    ["a file outside", "core/a.ts", `import { x } from "../../bench/main.ts";`, "leaves src/"],
    ["an unknown room", "utils/a.ts", "", "utils/ is not in the list"],
    ["an unknown package", "core/a.ts", `import _ from "lodash";`, "lodash is not a dependency"],
    ["a development package", "core/a.ts", `import fc from "fast-check";`, "fast-check is not a dependency"],
    ["a bare built-in", "core/a.ts", `import { join } from "path";`, "path is written node:path"],
    ["koffi elsewhere", "cli/a.ts", `const k = await import("koffi");`, "koffi is not for cli/"],
    ["jax-js elsewhere", "nn/a.ts", `import { numpy } from "@jax-js/jax/x";`, "@jax-js/jax is not for nn/"],
    ["koffi by require", "cli/a.ts", `const k = require("koffi");`, "koffi is not for cli/"],
    [
      "files in the trainer",
      "trainer/a.ts",
      `import { readFileSync } from "node:fs";`,
      "fs is not for trainer/",
    ],
    [
      "files in the trainer, later",
      "trainer/a.ts",
      `const fs = process.getBuiltinModule("node:fs/promises");`,
      "fs/promises is not for trainer/",
    ],
    [
      "the network in the trainer",
      "trainer/a.ts",
      `const x = await import("node:https");`,
      "https is not for trainer/",
    ],
    ["a database in the trainer", "trainer/a.ts", `import pg from "pg";`, "pg is not for trainer/"],
    ["a thread in hooks", "hooks/a.ts", `import { Worker } from "node:worker_threads";`, "is not for hooks/"],
    ["a module in front", "index.ts", `import fs from "node:fs";`, "node:fs is not for the front door"],
    ["a module of Node", "rl/a.ts", `import { join } from "node:path";`, "node:path is loaded on import"],
    ["files by node", "trainer/a.ts", "export const a = () => node.fs;", "node:fs is not for trainer/"],
    ["a call on import", "engine/np/index.ts", "const x = 1;\ninstall();", "install(); is a side effect"],
    ["a loop on import", "rl/a.ts", "for (const name of names) register(name);", "is a side effect"],
    ["an import for its effect", "rl/a.ts", `import "./registry.ts";`, "is a side effect"],
  ])("refuses %s", (_name, path, source, message) => {
    expect(faults(path, source)).toEqual([expect.stringContaining(message)]);
  });
});
