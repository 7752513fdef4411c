import type { Endurance } from "../engine/endurance.ts";
import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

type Mode = "fused" | "watching";

const runs = new Map<Mode, Promise<Endurance>>();

/** One run serves both figures. */
function train(mode: Mode, quick: boolean): Promise<Endurance> {
  const run =
    runs.get(mode) ??
    inFreshProcess<Endurance>(
      new URL("./endure.ts", import.meta.url),
      [quick ? "20000" : "100000", mode],
      ["--expose-gc"],
    );
  runs.set(mode, run);
  return run;
}

/** What a trainer with ten hooks keeps that it should not: 003 asks for a minimal overhead. */
export const trainerMemory: readonly CountedFigure[] = (["fused", "watching"] as const).flatMap((mode) => {
  const name = `100,000 batches, ${mode === "fused" ? "fused" : "a hook at every batch"}`;
  return [
    {
      kind: "counted" as const,
      name: `${name}: tensors gained`,
      engine: "xla" as const,
      unit: "tensors" as const,
      ours: async ({ quick }: { readonly quick: boolean }) => (await train(mode, quick)).tensorsGained,
      bars: [{ kind: "absolute" as const, atMost: 0 }],
    },
    {
      kind: "counted" as const,
      name: `${name}: resident memory gained after 5,000`,
      engine: "xla" as const,
      unit: "MB" as const,
      ours: async ({ quick }: { readonly quick: boolean }) => (await train(mode, quick)).growth,
      bars: [{ kind: "absolute" as const, atMost: 20 }],
    },
  ];
});
