import type { Figure } from "./harness/figure.ts";

/** A bench: a module that exports its figures. */
export interface Bench {
  readonly title: string;
  readonly load: () => Promise<{ readonly figures: readonly Figure[] }>;
}

/** All benches by name. A new one adds its module and a line here. */
export const benches: Readonly<Record<string, Bench>> = {
  engine: { title: "Engine on a CPU", load: () => import("./engine.ts") },
  parts: { title: "Layers and optimizers on a CPU", load: () => import("./parts.ts") },
  "parts-gpu": { title: "Layers and optimizers on a GPU", load: () => import("./parts-gpu.ts") },
  hooks: { title: "Hooks and the trainer", load: () => import("./hooks.ts") },
  checkpoint: { title: "Checkpoints", load: () => import("./checkpoint.ts") },
  logging: { title: "Logging", load: () => import("./logging.ts") },
  supervised: { title: "Supervised training on a CPU", load: () => import("./supervised.ts") },
  rl: { title: "Reinforcement learning on a CPU", load: () => import("./rl.ts") },
  "rl-gpu": { title: "Reinforcement learning on a GPU", load: () => import("./rl-gpu.ts") },
  rollout: { title: "Rollout workers on a CPU", load: () => import("./rollout.ts") },
  cluster: { title: "Past one machine", load: () => import("./cluster.ts") },
  dashboard: { title: "The dashboard", load: () => import("./dashboard.ts") },
  "coming-from": { title: "Programs of docs/coming-from.md", load: () => import("./coming-from.ts") },
  start: { title: "Starting the command", load: () => import("./start.ts") },
  "engine-gpu": { title: "Engine on a GPU", load: () => import("./engine-gpu.ts") },
};
