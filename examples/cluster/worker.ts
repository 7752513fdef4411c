// A rollout worker as a program of its own, on any machine: see ../20-cluster.ts. NATS_URL and NATS_TOKEN say where the
// server is. For most, `npx espalier worker --run poles` does this.
import { natsLink } from "espalier/cluster";
import { RolloutWorker } from "espalier/rollout";
import { rollouts } from "../setups/cart-pole-worker.ts";

const name = `worker-${process.pid}`;
const link = natsLink({ run: "poles", name });
const worker = new RolloutWorker({ name, link, generator: rollouts(), defaultHooks: false });
await worker.run(); // until the run ends
await link.close();
