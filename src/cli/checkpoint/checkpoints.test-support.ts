import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { Holder, somebody } from "../../checkpoint/fakes.test-support.ts";
import { CheckpointManager, type CheckpointMetadata, localStore } from "../../checkpoint/index.ts";
import type { StateTree } from "../../state/index.ts";
import { createProgram } from "../program.ts";
import { registerCheckpoint } from "./command.ts";

/** A directory for each test. */
export function testDirectory(): { readonly path: (...parts: string[]) => string } {
  let directory = "";
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "espalier-checkpoints-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));
  return { path: (...parts) => join(directory, ...parts) };
}

/** Saves states and gives the checkpoint's path. */
export async function saved(
  directory: string,
  states: Readonly<Record<string, StateTree>>,
  metadata: CheckpointMetadata = { counters: {} },
): Promise<string> {
  const manager = new CheckpointManager({
    store: localStore(directory),
    run: "a test",
    computedBy: async () => somebody,
  });
  const components = Object.entries(states).map(([name, state]) => [name, new Holder(state)] as const);
  const { path } = await manager.save(Object.fromEntries(components), metadata);
  await manager.close();
  return path;
}

/** Runs `espalier checkpoint ...` in this process. */
export async function checkpoint(...args: readonly string[]) {
  const before = process.exitCode;
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void lines.push(text));
  process.exitCode = undefined;
  let error: unknown;
  try {
    await createProgram([registerCheckpoint]).parseAsync(["checkpoint", ...args], { from: "user" });
  } catch (thrown) {
    error = thrown;
  }
  const code = process.exitCode;
  process.exitCode = before;
  log.mockRestore();
  return {
    code: code ?? (error ? 1 : 0),
    text: lines.join("\n"),
    error: error === undefined ? "" : String(error),
  };
}
