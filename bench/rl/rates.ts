import type { FigureEngine, PeerCase, PeerName, TimedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";
import { cartPole, trainingOf } from "./cart-pole.ts";

const torchPpo: PeerCase = { script: "rl_torch.py", case: "training", params: {} };
const sb3: PeerCase = { script: "rl_sb3.py", case: "training", params: {} };

interface Against {
  readonly engine: FigureEngine & ("xla" | "wasm");
  readonly times: number;
  readonly peers: Partial<Record<PeerName, PeerCase>>;
}

/** Environments on the host, step by step, as any environment of the user's own would run. */
const ordinary = ({ engine, times, peers }: Against): TimedFigure => ({
  kind: "timed",
  name: "PPO on CartPole at CleanRL's settings, ordinary environments",
  engine,
  unit: "frames/s",
  // 16 updates of ours and of PyTorch's, 32 of Stable-Baselines3's.
  steps: 16 * cartPole.frames,
  ours: () => trainingOf({ engine, compiled: false }),
  peers,
  bars: [{ kind: "ratio", against: "torchPpo", atLeast: times }],
});

const updates = 256;

/**
 * Ten runs, each of ours and of JAX's in a fresh process that compiles anew: small programs may come out at different
 * speeds, which stay what they are as long as the process lives.
 */
const compiled: TimedFigure = {
  kind: "timed",
  name: "PPO on CartPole at CleanRL's settings, compiled environments, ten fresh processes",
  engine: "xla",
  unit: "frames/s",
  steps: updates * cartPole.frames,
  rounds: 10,
  ours: async () => ({
    run: (frames) => inFreshProcess<number>(new URL("./train-once.ts", import.meta.url), [String(frames)]),
  }),
  peers: {
    jaxPpo: { script: "rl_jax.py", case: "anew", params: { environments: cartPole.environments, updates } },
  },
  bars: [
    { kind: "ratio", against: "jaxPpo", atLeast: 0.9 },
    { kind: "ratio", against: "jaxPpo", atLeast: 0.7, worst: true },
  ],
};

/** How many frames a second are played and learned from. */
export const rates: readonly TimedFigure[] = [
  ordinary({ engine: "xla", times: 5, peers: { torchPpo, sb3 } }),
  compiled,
  ordinary({ engine: "wasm", times: 1, peers: { torchPpo } }),
];
