// Hooks through `espalier/hooks` and no other door: the manager orders them by their slots.
import assert from "node:assert/strict";
import { evaluationScores, type HookContext, HookManager } from "espalier/hooks";

type Events = { readonly onEpochEnd: HookContext };
const hooks = new HookManager<Events>({ events: ["onEpochEnd"] });
hooks.register({ name: "reads", wants: [evaluationScores], onEpochEnd: () => undefined });
hooks.register({ name: "evaluates", provides: [evaluationScores], onEpochEnd: () => undefined });
const { text } = hooks.plan();
assert.ok(text.indexOf("evaluates") < text.indexOf("reads"));
console.log("espalier/hooks");
