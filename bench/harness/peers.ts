import { join } from "node:path";
import { type PeerCase, type PeerName, peerLabels, type Sampler, type Subject } from "./figure.ts";
import { peersFolder } from "./folders.ts";
import { Peer } from "./peer.ts";
import { pythonWith } from "./python.ts";

interface PeerKind {
  /** Python packages, installed on first use; without them the script is for Node. */
  readonly python?: readonly string[];
  /** Said before they are downloaded. */
  readonly note?: string;
  /** Where they are installed, if several peers share them; else by the peer's name. */
  readonly folder?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What both peers with PyTorch that learn by reinforcement need. Stable-Baselines3 takes no newer gymnasium. */
const torchAndGymnasium: PeerKind = {
  python: ["torch==2.15.0", "gymnasium==1.3.0", "stable-baselines3==2.9.2", "numpy"],
  note: "about 3 GB with the CUDA libraries that PyTorch brings",
  folder: "torch-gymnasium",
};

/** What each peer needs. Versions are fixed: figures are about them. */
const kinds: Readonly<Record<PeerName, PeerKind>> = {
  jax: {
    python: ["jax==0.10.2", "numpy", "optax"],
    note: "about 150 MB",
    // On a GPU it would take most of the memory at the start, and ours could not run beside it.
    env: { XLA_PYTHON_CLIENT_PREALLOCATE: "false" },
  },
  torch: {
    python: ["torch==2.15.0", "numpy", "pillow"],
    note: "about 3 GB with the CUDA libraries it brings",
  },
  jaxjs: {},
  lightning: {
    python: ["pytorch-lightning==2.6.6", "torch==2.15.0", "numpy"],
    note: "about 3 GB with PyTorch and the CUDA libraries it brings",
  },
  // Ours without a trainer, by hand.
  bare: {},
  // Ours, with all examples on the device.
  memory: {},
  // Node's own file functions.
  plain: {},
  // NATS's own client.
  nats: {},
  summaryWriter: {
    python: ["torch==2.15.0", "tensorboard==2.21.0", "numpy"],
    note: "about 3 GB with the CUDA libraries that PyTorch brings",
  },
  torchPpo: torchAndGymnasium,
  sb3: torchAndGymnasium,
  jaxPpo: {
    // gymnax imports six and does not say so.
    python: ["jax==0.10.2", "numpy", "gymnax==1.0.1", "six"],
    note: "about 300 MB with what gymnax brings",
    env: { XLA_PYTHON_CLIENT_PREALLOCATE: "false" },
  },
  safetensors: { python: ["safetensors==0.8.0", "numpy"], note: "about 70 MB" },
};

/** Starts peers when they are first needed and keeps them. */
export class Peers {
  readonly #running = new Map<string, Promise<Peer>>();
  readonly #descriptions = new Map<PeerName, string>();

  /** The case, ready to be timed, in the process of its peer. */
  async setUp(name: PeerName, wanted: PeerCase): Promise<Subject & Sampler> {
    const key = `${name} ${wanted.script}`;
    const starting = this.#running.get(key) ?? this.#start(name, wanted.script);
    this.#running.set(key, starting);
    const peer = await starting;
    const subject = await peer.setUp(wanted);
    return { ...subject, dispose: () => peer.drop().catch(() => {}) };
  }

  async #start(name: PeerName, script: string): Promise<Peer> {
    const kind = kinds[name];
    const file = join(peersFolder(), script);
    const label = peerLabels[name];
    const peer = kind.python
      ? new Peer(
          label,
          await pythonWith(kind.folder ?? name, kind.python, kind.note ?? ""),
          // An environment of its own has all it needs: nothing of PYTHONPATH, which may have other versions.
          [...(process.env.ESPALIER_BENCH_PYTHON ? [] : ["-E"]), "-u", file],
          kind.env,
        )
      : new Peer(label, process.execPath, [...process.execArgv, file]);
    this.#descriptions.set(name, await peer.describe());
    return peer;
  }

  /** Version and device of every peer that was started. */
  get descriptions(): Readonly<Partial<Record<PeerName, string>>> {
    return Object.fromEntries(this.#descriptions);
  }

  async stop(): Promise<void> {
    for (const peer of await Promise.allSettled(this.#running.values()))
      if (peer.status === "fulfilled") peer.value.stop();
  }
}
