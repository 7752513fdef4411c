import { createHash, randomInt } from "node:crypto";
import type { ProtoWriter } from "../../../core/index.ts";
import type { Json } from "../../json.ts";
import type { WandbProject } from "./records.ts";

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

export const artifactField = {
  runId: 1,
  project: 2,
  entity: 3,
  type: 4,
  name: 5,
  digest: 6,
  metadata: 8,
  userCreated: 9,
  aliases: 11,
  manifest: 12,
  finalize: 14,
  clientId: 15,
  sequenceClientId: 16,
  digestAlgorithm: 20,
} as const;
const manifest = { version: 1, policy: 2, policyConfig: 3, contents: 4 } as const;
const setting = { key: 1, json: 2 } as const;
const entry = { path: 1, digest: 2, size: 4, localPath: 6 } as const;

/** What W&B knows a set of files by: the same files are one version. */
export function digestOf(files: readonly ArtifactFile[]): string {
  const hash = createHash("md5").update("wandb-artifact-manifest-v1\n");
  for (const { path, md5 } of sorted(files)) hash.update(`${path}:${md5}\n`);
  return hash.digest("hex");
}

export function writeArtifact(
  out: ProtoWriter,
  of: WandbProject & { readonly runId: string; readonly sequence: string },
  { type, name, aliases, metadata, files }: ArtifactContent,
): void {
  out.text(artifactField.runId, of.runId);
  out.text(artifactField.project, of.project);
  if (of.entity !== undefined) out.text(artifactField.entity, of.entity);
  out.text(artifactField.type, type);
  out.text(artifactField.name, name);
  out.text(artifactField.digest, digestOf(files));
  out.text(artifactField.metadata, JSON.stringify(metadata));
  out.boolean(artifactField.userCreated, true);
  for (const alias of aliases) out.text(artifactField.aliases, alias);
  writeManifest(out, files);
  out.boolean(artifactField.finalize, true);
  out.text(artifactField.clientId, clientId());
  out.text(artifactField.sequenceClientId, of.sequence);
  out.text(artifactField.digestAlgorithm, "MANIFEST_MD5");
}

function writeManifest(out: ProtoWriter, files: readonly ArtifactFile[]): void {
  const begun = out.begin(artifactField.manifest);
  out.integer(manifest.version, 1);
  out.text(manifest.policy, "wandb-storage-policy-v1");
  const layout = out.begin(manifest.policyConfig);
  out.text(setting.key, "storageLayout");
  out.text(setting.json, '"V2"');
  out.end(layout);
  for (const { path, md5, bytes, localPath } of sorted(files)) {
    const content = out.begin(manifest.contents);
    out.text(entry.path, path);
    out.text(entry.digest, md5);
    out.integer(entry.size, bytes);
    out.text(entry.localPath, localPath);
    out.end(content);
  }
  out.end(begun);
}

/** By name, as Python sorts texts. */
const sorted = (files: readonly ArtifactFile[]): readonly ArtifactFile[] =>
  [...files].sort((a, b) => (a.path < b.path ? -1 : 1));

const letters = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A name that nobody else gives: W&B takes it for the artifact's until it has its own. */
export const clientId = (): string =>
  Array.from({ length: 128 }, () => letters[randomInt(letters.length)]).join("");
