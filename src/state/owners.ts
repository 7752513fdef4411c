import { EspalierError } from "../core/index.ts";
import type { StateTree } from "./stateful.ts";
import { walkState } from "./walk.ts";

/**
 * Checks that each piece of state has one owner: the same tensor, or the same memory, in the states of two components
 * is an error that names both places, because after a restore they would be two pieces that drift apart. Within one
 * component a tensor may stand in several places: tensors never change.
 *
 * @example
 * ```ts
 * checkOwners({ params: await params.getState(), optimizer: await optimizer.getState() });
 * ```
 */
export function checkOwners(states: Readonly<Record<string, StateTree>>): void {
  const owners = new Map<unknown, { readonly component: string; readonly place: string }>();
  const shared: string[] = [];
  for (const [component, state] of Object.entries(states)) {
    walkState(state, (path, node) => {
      if (node.kind !== "tensor" && node.kind !== "array") return;
      // Two views of one memory are one piece of state, whatever parts of it they show.
      const piece = node.kind === "tensor" ? node.value : node.value.buffer;
      const place = path === "" ? component : `${component}: ${path}`;
      const owner = owners.get(piece);
      if (!owner) owners.set(piece, { component, place });
      else if (owner.component !== component) {
        const what = node.kind === "tensor" ? node.value.type.text : node.type;
        shared.push(`${owner.place} and ${place} (${what})`);
      }
    });
  }
  if (shared.length === 0) return;
  throw new EspalierError("STATE_SHARED", `the same state belongs to two components: ${shared.join("; ")}`, {
    fix: "let one component own it; where both start from the same numbers, give the second a copy",
  });
}
