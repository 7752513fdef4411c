import {
  type Checkpoint,
  type CheckpointStore,
  type Header,
  readHeader,
  type SavedLeaf,
  type StoredFile,
  savedLeaves,
} from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";

/** A component's file, opened. */
export interface OpenComponent {
  readonly file: StoredFile;
  readonly header: Header;
  readonly leaves: readonly SavedLeaf[];
}

/** Opens a component's file for as long as `use` runs. Its data is read only where `use` does. */
export async function withComponent<T>(
  { checkpoint, store }: { readonly checkpoint: Checkpoint; readonly store: CheckpointStore },
  component: string,
  use: (open: OpenComponent) => Promise<T>,
): Promise<T> {
  const record = checkpoint.manifest.components[component];
  if (!record)
    throw new EspalierError("COMPONENT_UNKNOWN", `${checkpoint.path} has no component "${component}"`);
  const file = await (await store.open(checkpoint.name)).file(record.file);
  try {
    const header = await readHeader(file);
    return await use({ file, header, leaves: savedLeaves(header) });
  } finally {
    await file.close();
  }
}
