import { join } from "node:path";
import { cpSync } from "node:fs";
import { it, vi, expect } from "vitest";
import { faultyFiles } from "../sinks/faulty-files.test-support.ts";
import { systemFiles } from "../sinks/files.ts";
import { kinds, sinksIn, written } from "./file-sinks.test-support.ts";
import { newFolder, trained } from "./run.test-support.ts";
it.each(["csv", "log-file", "tensorboard", "wandb"])("%s", async (kind) => {
  const folder = newFolder();
  await trained({ sinks: sinksIn(folder) });
  const f2 = newFolder();
  const disk = faultyFiles();
  await trained({
    sinks: sinksIn(f2, (each) => (each === kind ? disk : systemFiles)),
    after: { 100: () => disk.fail(20, Infinity), 200: () => disk.fail(0, 0) },
  });
  cpSync(join(folder, kind), `/tmp/scratch/dbg/${kind}-a`, { recursive: true });
  cpSync(join(f2, kind), `/tmp/scratch/dbg/${kind}-b`, { recursive: true });
});
