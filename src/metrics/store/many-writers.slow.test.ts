import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { describeStores } from "./stores.test-support.ts";

const script = fileURLToPath(new URL("writer.test-support.ts", import.meta.url));
const [writers, windows, metrics] = [8, 40, 20];

/** Starts a process that waits with its store until it is told to go on. */
async function writer(location: string, id: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", script, location, id, String(windows)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

describeStores("many processes at once", ({ location, open }) => {
  it("make one store, file all they have, and are followed meanwhile", { timeout: 240_000 }, async () => {
    const where = await location();
    const ids = Array.from({ length: writers }, (_, index) => `run-${index}`);
    const children = await Promise.all(ids.map((id) => writer(where, id)));
    let left = writers;
    const ended = children.map(async (child) => {
      const [code] = (await once(child, "exit")) as [number];
      left--;
      return code;
    });
    for (const child of children) child.stdin?.write("go\n");

    const store = await open(where);
    const seen = new Map<string, number>();
    for (let place = 0, over = false; !over; ) {
      // SQLite answers at once: without this the loop would never hear that a process has ended.
      await new Promise((resolve) => setImmediate(resolve));
      over = left === 0;
      const known = (await store.runs()).some(({ id }) => id === "shared");
      if (!known) continue;
      const { rows, next } = await store.since("shared", place);
      for (const { key, step } of rows) {
        // Each writer's values come in its order, and none is missed.
        expect(step).toBe((seen.get(key) ?? 0) + 1);
        seen.set(key, step);
      }
      place = next;
    }
    expect(await Promise.all(ended)).toEqual(ids.map(() => 0));

    expect(seen.size).toBe(writers * metrics);
    for (const step of seen.values()) expect(step).toBe(windows);
    expect(await store.runs()).toHaveLength(writers + 1);
    for (const id of ids) {
      expect(await store.run(id)).toMatchObject({ outcome: "completed", heartbeat: windows });
      const counted = await store.metrics(id);
      expect(counted).toHaveLength(metrics);
      for (const { points } of counted) expect(points).toBe(windows);
      expect((await store.series(id, "train/m7")).map(({ value }) => value)).toEqual(
        Array.from({ length: windows }, (_, index) => index + 1 + 0.07),
      );
    }
    for (const { points } of await store.metrics("shared")) expect(points).toBe(windows);
  });
});
