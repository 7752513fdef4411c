import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, link, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Checkpoint } from "../../../checkpoint/index.ts";
import { badOption, checkNames, EspalierError } from "../../../core/index.ts";
import type { Json } from "../../json.ts";
import type { ArtifactFile } from "./artifact-record.ts";
import type { WandbSink } from "./sink.ts";

/** Options of {@link wandbArtifact}. */
export interface WandbArtifactOptions {
  /** The sink of the run that the artifact is of. */
  readonly sink: WandbSink;
  /** What versions of it are called in W&B. */
  readonly name: string;
  /** Default "model". */
  readonly type?: string;
  /** Beside `latest` and the name of the checkpoint. */
  readonly aliases?: readonly string[];
}

/**
 * Files checkpoints as versions of an artifact of a W&B run: `wandb sync` sends them with the run. Gives the address
 * `wandb-artifact:///project/name:checkpoint`. Until then their files wait in the run's directory, as links where the
 * file system has them, so that they stay when the checkpoint is removed. Only of checkpoints in local directories.
 *
 * @example
 * ```ts
 * const wandb = wandbSink({ directory: "runs/mnist", project: "mnist" });
 * const to = wandbArtifact({ sink: wandb, name: "mnist-model" });
 * checkpointHook({ directory: "runs/mnist/checkpoints", publish: [{ to, schedule: every({ epochs: 10 }) }] });
 * ```
 */
export function wandbArtifact(options: WandbArtifactOptions): (checkpoint: Checkpoint) => Promise<string> {
  checkNames("wandbArtifact", options, ["sink", "name", "type", "aliases"]);
  const { sink, name, type = "model", aliases = [] } = options;
  if (typeof name !== "string" || !/^[\w.-]{1,128}$/.test(name))
    throw badOption(
      "wandbArtifact",
      `name is ${JSON.stringify(name)}`,
      "give up to 128 letters, digits, - _ and .",
    );
  return async (checkpoint) => {
    const { runDirectory, project, entity } = sink;
    if (runDirectory === undefined)
      throw new EspalierError("SINK_NOT_OPEN", "the W&B run of the artifact is not open", {
        fix: "hand the sink to the Logger of the run too",
      });
    const files = await stage(checkpoint, join(runDirectory, "artifacts", checkpoint.name));
    const { counters, metrics, scores, savedAt, run } = checkpoint.manifest;
    const metadata: Json = { checkpoint: checkpoint.name, run, savedAt, counters, metrics, scores };
    sink.addArtifact({
      type,
      name,
      aliases: [...new Set(["latest", checkpoint.name, ...aliases])],
      metadata,
      files,
    });
    const path = [...(entity === undefined ? [] : [entity]), project, name].map(encodeURIComponent).join("/");
    return `wandb-artifact:///${path}:${encodeURIComponent(checkpoint.name)}`;
  };
}

/** Puts a checkpoint's files where nobody removes them. */
async function stage(checkpoint: Checkpoint, folder: string): Promise<readonly ArtifactFile[]> {
  const names = ["manifest.json", ...Object.values(checkpoint.manifest.components).map(({ file }) => file)];
  const staged: ArtifactFile[] = [];
  for (const path of names) {
    const source = join(checkpoint.path, path);
    const { size } = await stat(source).catch((cause: unknown) => {
      throw new EspalierError("ARTIFACT_NOT_LOCAL", `there is no file ${source} to send to W&B`, {
        fix: "keep checkpoints in a local directory: checkpointHook({ directory })",
        cause,
      });
    });
    // Whoever syncs may be elsewhere.
    const localPath = resolve(folder, path);
    await mkdir(dirname(localPath), { recursive: true });
    await rm(localPath, { force: true });
    await link(source, localPath).catch(() => copyFile(source, localPath));
    staged.push({ path, localPath, bytes: size, md5: await md5Of(localPath) });
  }
  return staged;
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash("md5");
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest("base64");
}
