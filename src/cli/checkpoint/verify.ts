import { CheckpointManager } from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";
import { locate } from "./locate.ts";

/** What a verification found. */
export interface Verified {
  readonly checkpoints: readonly { readonly name: string; readonly problems: readonly string[] }[];
  readonly text: string;
  readonly damaged: number;
}

/** Reads and hashes every byte of a checkpoint, or of all in a store. */
export async function verify(path: string): Promise<Verified> {
  const found = locate(path);
  const manager = new CheckpointManager({ store: found.store });
  const names = found.kind === "store" ? (await manager.list()).map(({ name }) => name) : [found.name];
  if (names.length === 0)
    throw new EspalierError("CHECKPOINT_MISSING", `${path} holds no checkpoints`, {
      fix: "give the path of a checkpoint or of a directory of checkpoints",
    });
  const checkpoints: { readonly name: string; readonly problems: readonly string[] }[] = [];
  for (const name of names) checkpoints.push({ name, problems: await manager.verify(name) });
  const damaged = checkpoints.filter(({ problems }) => problems.length > 0).length;
  const lines = checkpoints.flatMap(({ name, problems }) =>
    problems.length === 0 ? [`${name}: whole`] : [`${name}: damaged`, ...problems.map((text) => `  ${text}`)],
  );
  if (names.length > 1) lines.push(`${names.length - damaged} of ${names.length} are whole`);
  return { checkpoints, text: lines.join("\n"), damaged };
}
