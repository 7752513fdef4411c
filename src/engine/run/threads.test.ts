import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import config from "../../../tsdown.config.ts";
import { ownFile, startThread } from "./threads.ts";

describe("a thread of our own", () => {
  it("starts from its file with its data, and what goes wrong there is an event of its own", async () => {
    const control = new Int32Array(new SharedArrayBuffer(8));
    const worker = startThread("engine/xla/compile-thread", { name: "test", data: control });
    // It waits for the turn to change.
    await new Promise((resolve) => worker.once("online", resolve));
    await worker.terminate();
    const failing = startThread("core/index", { name: "test" });
    const error = await new Promise<Error>((resolve) => failing.once("error", (e) => resolve(e as Error)));
    expect(error.message).toContain("runThread is not a function");
  });

  it("has a file that the build emits", () => {
    const { entry } = config as { readonly entry: Readonly<Record<string, string>> };
    const sources = fileURLToPath(new URL("../..", import.meta.url));
    const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !file.includes(".test"),
    );
    const started = files.flatMap((file) => {
      const text = readFileSync(join(sources, file), "utf8").replace(/^\/\/.*$/gm, "");
      return [...text.matchAll(/startThread\(\s*"([^"]+)"/g)].map(([, path = ""]) => path);
    });
    expect(started).toContain("checkpoint/store/file-thread-main");
    for (const path of started) expect(entry[path]).toBe(`src/${path}.ts`);
    expect(entry["engine/run/thread-boot"]).toBe("src/engine/run/thread-boot.mjs");
    expect(ownFile("cli/main")).toBe(new URL("../../cli/main.ts", import.meta.url).href);
  });
});
