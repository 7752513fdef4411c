import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Checkpoint, CheckpointManager, localStore, type Publication } from "../../../checkpoint/index.ts";
import { every, noCounters } from "../../../schedule/index.ts";
import { completed, runInfo } from "../../../testing/sinks/records.ts";
import { digestOf, wandbArtifact } from "./artifact.ts";
import { findOriginal } from "./original.test-support.ts";
import { WandbServer } from "./server.test-support.ts";
import { wandbSink } from "./sink.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-artifact-"));
afterAll(() => rmSync(folder, { recursive: true }));

const store = localStore(join(folder, "checkpoints"));
const manager = new CheckpointManager({ store });
afterAll(() => manager.close());
async function checkpointAt(updates: number): Promise<Checkpoint> {
  const state = { getState: () => ({ weights: Float32Array.of(1, 2, updates) }), setState: () => undefined };
  const saved = await manager.save(
    { model: state },
    { counters: { ...noCounters, updates, steps: updates }, metrics: { loss: 0.5 }, config: {} },
  );
  return Checkpoint.open(store, saved.name);
}
const sinkAt = (place: string, more: object = {}) =>
  wandbSink({ directory: join(folder, place), project: "plants", ...more });

describe("digestOf", () => {
  it("is W&B's own of the same files", () => {
    // By wandb 0.31.0: Artifact("ckpt", "model"), a file "sub/m.txt" that holds "hello".
    const md5 = "XUFAKrxLKna5cZ2REBfFkg==";
    expect(createHash("md5").update("hello").digest("base64")).toBe(md5);
    const file = { path: "sub/m.txt", localPath: "/anywhere", bytes: 5, md5 };
    expect(digestOf([file])).toBe("efb611896f68ea3c032220d6080c8102");
  });
});

describe("wandbArtifact", () => {
  it("is a place to publish to, and gives an address that names the checkpoint", async () => {
    const sink = sinkAt("addresses", { entity: "a team" });
    sink.open?.(runInfo("addresses"));
    const publication: Publication = {
      to: wandbArtifact({ sink, name: "fern" }),
      schedule: every({ epochs: 1 }),
    };
    const checkpoint = await checkpointAt(10);
    const address = typeof publication.to === "function" ? await publication.to(checkpoint) : "";
    expect(address).toBe(`wandb-artifact:///a%20team/plants/fern:${checkpoint.name}`);
  });

  it("keeps the files when the checkpoint is removed", async () => {
    const sink = sinkAt("kept");
    sink.open?.(runInfo("kept"));
    const checkpoint = await checkpointAt(20);
    await wandbArtifact({ sink, name: "fern" })(checkpoint);
    const names = readdirSync(checkpoint.path).sort();
    const bytes = names.map((name) => readFileSync(join(checkpoint.path, name)));
    rmSync(checkpoint.path, { recursive: true });
    const kept = join(sink.runDirectory ?? "", "artifacts", checkpoint.name);
    expect(readdirSync(kept).sort()).toEqual(names);
    expect(names.map((name) => readFileSync(join(kept, name)))).toEqual(bytes);
  });

  it("refuses names that W&B refuses, runs that are not open, and checkpoints that lie elsewhere", async () => {
    const sink = sinkAt("refused");
    expect(() => wandbArtifact({ sink, name: "a/b" })).toThrow(/name is "a\/b"/);
    const to = wandbArtifact({ sink, name: "fern" });
    const checkpoint = await checkpointAt(30);
    await expect(to(checkpoint)).rejects.toThrow(/SINK_NOT_OPEN/);
    sink.open?.(runInfo("refused"));
    rmSync(checkpoint.path, { recursive: true });
    await expect(to(checkpoint)).rejects.toThrow(/ARTIFACT_NOT_LOCAL/);
  });
});

const original = findOriginal();
const name = "wandbArtifact, read by W&B";
if ("missing" in original) it.skip(`${name}: ${original.missing}`, () => undefined);
else
  describe(name, () => {
    const server = new WandbServer();
    afterAll(() => {
      original.close();
      server.stop();
    });

    it("files each checkpoint once, in one line of versions, also after a resume, and wandb sync sends it", async () => {
      const [first, second] = [await checkpointAt(40), await checkpointAt(50)];
      const killed = sinkAt("filed");
      killed.open?.(runInfo("filed"));
      const to = wandbArtifact({ sink: killed, name: "fern", aliases: ["nightly"] });
      await to(first);
      await to(first);
      const sink = sinkAt("filed");
      sink.open?.(runInfo("filed", 40));
      const again = wandbArtifact({ sink, name: "fern" });
      await again(first);
      await again(second);
      const directory = sink.runDirectory ?? "";
      sink.close?.(completed);

      const records = await original.read(join(directory, "run-filed.wandb"));
      const artifacts = records.flatMap(({ artifact }) => artifact ?? []);
      expect(artifacts).toHaveLength(2);
      expect(artifacts[1]?.sequence_client_id).toBe(artifacts[0]?.sequence_client_id);
      expect(artifacts[1]?.client_id).not.toBe(artifacts[0]?.client_id);
      const [found] = artifacts;
      expect(found).toMatchObject({
        run_id: "filed",
        project: "plants",
        type: "model",
        name: "fern",
        aliases: ["latest", first.name, "nightly"],
        digest_algorithm: "MANIFEST_MD5",
        finalize: true,
      });
      expect(JSON.parse(String(found?.metadata))).toMatchObject({
        checkpoint: first.name,
        counters: { updates: 40 },
        metrics: { loss: 0.5 },
      });
      const contents = readdirSync(first.path).map((path) => {
        const bytes = readFileSync(join(first.path, path));
        return { path, digest: createHash("md5").update(bytes).digest("base64"), size: String(bytes.length) };
      });
      expect(found?.manifest.contents).toEqual(
        contents.sort((a, b) => (a.path < b.path ? -1 : 1)).map((entry) => expect.objectContaining(entry)),
      );

      const address = await server.start();
      await original.sync(address, directory);
      expect(
        server.artifacts.map(({ artifactCollectionName, digest }) => [artifactCollectionName, digest]),
      ).toEqual(artifacts.map(({ digest }) => ["fern", digest]));
      const weights = readdirSync(second.path).find((path) => path !== "manifest.json") ?? "";
      expect(
        server.uploads.get(`/artifact/${weights}`)?.equals(readFileSync(join(second.path, weights))),
      ).toBe(true);
    });
  });
