import type { Checkpoint, Json } from "../../../checkpoint/index.ts";
import {
  checkOptions,
  EspalierError,
  makeDirectory,
  node,
  type Options,
  option,
  type ProtoWriter,
} from "../../../core/index.ts";
import { writeFields } from "../messages.ts";
import type { WandbProject } from "./records.ts";
import type { WandbSink } from "./sink.ts";

const artifactOptions = {
  /** The sink of the run that the artifact is of. */
  sink: option.object<WandbSink, { readonly required: true }>("a wandbSink", ["addArtifact"], {
    required: true,
  }),
  /** The name of its versions in W&B. */
  name: option.made<string, { readonly required: true }>(
    "a name of up to 128 letters, digits, - _ and .",
    (name) => typeof name === "string" && /^[\w.-]{1,128}$/.test(name),
    { required: true },
  ),
  /** Default: "model". */
  type: option.text({}),
  /** Beside `latest` and the name of the checkpoint. */
  aliases: option.list<string>("a list of names", {}),
};

/** Options of {@link wandbArtifact}. */
export interface WandbArtifactOptions extends Options<typeof artifactOptions> {}

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
  checkOptions("wandbArtifact", options, artifactOptions);
  const { sink, name, type = "model", aliases = [] } = options;
  return async (checkpoint) => {
    const { runDirectory, project, entity } = sink;
    if (runDirectory === undefined)
      throw new EspalierError("SINK_NOT_OPEN", "the W&B run of the artifact is not open", {
        fix: "hand the sink to the Logger of the run too",
      });
    const files = await stage(checkpoint, runDirectory);
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

/** Puts a checkpoint's files where retention does not remove them. */
async function stage(checkpoint: Checkpoint, runDirectory: string): Promise<readonly ArtifactFile[]> {
  const { copyFile, link, rm, stat } = node.fs.promises;
  const { dirname, join, resolve } = node.path;
  const { components } = checkpoint.manifest;
  const names = new Set(["manifest.json", ...Object.values(components).map(({ file }) => file)]);
  const staged: ArtifactFile[] = [];
  for (const path of names) {
    const source = join(checkpoint.path, path);
    const { size } = await stat(source).catch((cause: unknown) => {
      throw new EspalierError("ARTIFACT_NOT_LOCAL", `there is no file ${source} to send to W&B`, {
        fix: "keep checkpoints in a local directory: checkpointHook({ directory })",
        cause,
      });
    });
    // Absolute: `wandb sync` may run in another directory.
    const localPath = resolve(join(runDirectory, "artifacts", checkpoint.name), path);
    makeDirectory(dirname(localPath));
    await rm(localPath, { force: true });
    await link(source, localPath).catch(() => copyFile(source, localPath));
    staged.push({ path, localPath, bytes: size, md5: await md5Of(localPath) });
  }
  return staged;
}

async function md5Of(path: string): Promise<string> {
  const hash = node.crypto.createHash("md5");
  for await (const piece of node.fs.createReadStream(path)) hash.update(piece);
  return hash.digest("base64");
}

/** A file of an artifact. */
export interface ArtifactFile {
  /** Its name in the artifact. */
  readonly path: string;
  /** Where it lies until it is sent. */
  readonly localPath: string;
  readonly bytes: number;
  /** In base 64. */
  readonly md5: string;
}

/** The files of an artifact. */
export interface ArtifactContent {
  readonly type: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly metadata: Json;
  readonly files: readonly ArtifactFile[];
}

const entry = {
  path: [1, "text"],
  digest: [2, "text"],
  size: [4, "integer"],
  localPath: [6, "text"],
} as const;
const manifest = {
  version: [1, "integer"],
  policy: [2, "text"],
  policyConfig: [3, { key: [1, "text"], json: [2, "text"] }],
  contents: [4, entry],
} as const;
export const artifactMessage = {
  runId: [1, "text"],
  project: [2, "text"],
  entity: [3, "text"],
  type: [4, "text"],
  name: [5, "text"],
  digest: [6, "text"],
  metadata: [8, "text"],
  userCreated: [9, "boolean"],
  aliases: [11, "text"],
  manifest: [12, manifest],
  finalize: [14, "boolean"],
  clientId: [15, "text"],
  sequenceClientId: [16, "text"],
  digestAlgorithm: [20, "text"],
} as const;

/** The identity of a set of files to W&B: the same files are one version. */
export function digestOf(files: readonly ArtifactFile[]): string {
  const hash = node.crypto.createHash("md5").update("wandb-artifact-manifest-v1\n");
  for (const { path, md5 } of sorted(files)) hash.update(`${path}:${md5}\n`);
  return hash.digest("hex");
}

export function writeArtifact(
  out: ProtoWriter,
  { runId, project, entity, sequence }: WandbProject & { readonly runId: string; readonly sequence: string },
  { type, name, aliases, metadata, files }: ArtifactContent,
): void {
  writeFields(out, artifactMessage, {
    runId,
    project,
    entity,
    type,
    name,
    digest: digestOf(files),
    metadata: JSON.stringify(metadata),
    userCreated: true,
    aliases,
    manifest: {
      version: 1,
      policy: "wandb-storage-policy-v1",
      policyConfig: { key: "storageLayout", json: '"V2"' },
      contents: sorted(files).map(({ md5: digest, bytes: size, path, localPath }) => ({
        path,
        digest,
        size,
        localPath,
      })),
    },
    finalize: true,
    clientId: clientId(),
    sequenceClientId: sequence,
    digestAlgorithm: "MANIFEST_MD5",
  });
}

/** By name, as Python sorts texts. */
const sorted = (files: readonly ArtifactFile[]): readonly ArtifactFile[] =>
  [...files].sort((a, b) => (a.path < b.path ? -1 : 1));

const letters = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A random name: W&B takes it for the artifact's until it has its own. */
export function clientId(): string {
  const { randomInt } = node.crypto;
  return Array.from({ length: 128 }, () => letters[randomInt(letters.length)]).join("");
}
