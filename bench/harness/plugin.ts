import { findPlugins, installPlugin } from "../../src/engine/xla/plugin/index.ts";

/** Gets the CPU plugin where there is none, as `espalier engine install` does: a bench does its own set-up. */
export async function ensureEngine(): Promise<void> {
  if (findPlugins().length > 0) return;
  console.error("bench: installing the XLA CPU plugin, once");
  try {
    await installPlugin("cpu", { onProgress: (line) => console.error(line) });
  } catch (cause) {
    // The figures say that they could not be measured; those of the other engine can.
    console.error(`bench: no XLA plugin: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
