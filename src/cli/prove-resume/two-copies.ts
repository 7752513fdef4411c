import { EspalierError, isPlainObject } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import type { Task } from "../../trainer/index.ts";

/**
 * Two copies of the package in one process do not know each other's tensors, which comes to light in errors that
 * name neither. Gives the error to throw instead where a task's states hold such tensors.
 */
export async function twoCopies(task: Task, cause: unknown): Promise<EspalierError | undefined> {
  for (const component of Object.values(task.components ?? {}))
    if (hasForeignTensor(await Promise.resolve(component.getState()).catch(() => null)))
      return new EspalierError(
        "ESPALIER_TWICE",
        "the set-up's tensors come from another copy of espalier than this command",
        {
          fix: 'call the espalier that is installed beside the file; a TypeScript file needs "type": "module" in its package.json, or the name ending .mts',
          cause,
        },
      );
  return undefined;
}

function hasForeignTensor(state: unknown): boolean {
  if (state instanceof Tensor || typeof state !== "object" || state === null) return false;
  if (Array.isArray(state)) return state.some(hasForeignTensor);
  if (isPlainObject(state)) return Object.values(state).some(hasForeignTensor);
  return state.constructor?.name === "Tensor";
}
