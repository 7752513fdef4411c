import type { Report, Result } from "./report.ts";

/** A result with numbers of ours and JAX's, for tests to change. */
export const exampleResult: Result = {
  name: "Adam step",
  engine: "xla",
  unit: "ms",
  bars: [{ kind: "ratio", against: "jax", atMost: 1.25 }],
  ours: [1.1, 1, 1.3],
  peers: { jax: [1, 0.9, 2] },
  problems: {},
};

export const exampleReport = (...results: readonly Result[]): Report => ({
  bench: "engine",
  title: "Engine on a CPU",
  whole: true,
  command: "npm run bench -- engine --peers",
  date: "2026-01-02T03:04:05.000Z",
  rounds: 3,
  machine: {
    cpu: "A Processor",
    cores: 2,
    memoryGB: 8,
    system: "linux x64",
    node: "20.0.0",
    engines: { xla: "cpu" },
    peers: { jax: "0.10.2 on cpu" },
  },
  results,
});
