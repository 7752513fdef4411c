import { rmSync } from "node:fs";
import { CheckpointManager, localStore } from "../../src/checkpoint/index.ts";
import type { PeerCase, Subject, TimedFigure } from "../harness/figure.ts";
import { freshFolder } from "../harness/scratch.ts";
import { seconds } from "../harness/stopwatch.ts";
import { components, sides } from "./payload.ts";
import { settled } from "./settled.ts";

const bytes = 1e9;

/** A whole save: snapshot, hashes, files that outlive a loss of power, manifest, commit. */
async function saving(): Promise<Subject> {
  const store = localStore(freshFolder("saves"));
  const manager = new CheckpointManager({ store });
  const parts = components(1);
  const save = async (): Promise<{ readonly took: number; readonly bytes: number }> => {
    let saved: Awaited<ReturnType<typeof manager.save>> | undefined;
    const took = await seconds(async () => {
      saved = await manager.save(parts, { counters: {} });
    });
    if (saved) rmSync(saved.path, { recursive: true });
    settled(store.location);
    return { took, bytes: saved?.bytes ?? 0 };
  };
  const first = await save();
  return {
    // Headers, and not a thousandth more.
    check: first.bytes,
    run: async (times) => {
      let all = 0;
      for (let i = 0; i < times; i++) all += (await save()).took;
      return all;
    },
    dispose: () => manager.close(),
  };
}

const script = (file: string, fsync: boolean): PeerCase => ({
  script: file,
  case: "save",
  params: { sides: sides(1), folder: freshFolder("peers"), fsync },
});

export const writing: readonly TimedFigure[] = [
  {
    kind: "timed",
    name: "writing 1 GB so that it lasts; plain files with fsync; torch.save and safetensors as they are, without fsync",
    engine: "xla",
    unit: "s",
    steps: 1,
    ours: saving,
    peers: {
      plain: { script: "plain_files.ts", case: "write", params: { bytes, folder: freshFolder("peers") } },
      torch: script("torch_checkpoint.py", false),
      safetensors: script("safetensors_checkpoint.py", false),
    },
    bars: [{ kind: "ratio", against: "plain", atMost: 1.11 }],
  },
  {
    kind: "timed",
    name: "writing 1 GB so that it lasts; torch.save and safetensors with fsync after it",
    engine: "xla",
    unit: "s",
    steps: 1,
    ours: saving,
    peers: {
      torch: script("torch_checkpoint.py", true),
      safetensors: script("safetensors_checkpoint.py", true),
    },
    // Without fsync torch.save is faster than any write that lasts, plain files included: like is compared with like.
    bars: [{ kind: "ratio", against: "torch", atMost: 1 }],
  },
];
