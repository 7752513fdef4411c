import { connect } from "@nats-io/transport-node";
import { natsTransport } from "../../src/cluster/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { clusterOfBench } from "./machines.ts";
import { receivers, weightBytes } from "./sizes.ts";

const arrays = { w: { data: new Uint8Array(weightBytes).fill(3), shape: [weightBytes] } };
const small = { w: { data: new Float32Array(4), shape: [4] } };

async function experience(): Promise<Subject> {
  const cluster = await clusterOfBench(1);
  const { url: servers, token } = cluster;
  const transport = natsTransport({ servers, token, run: "bench", capacity: 128 });
  await transport.publish({ id: 0, arrays: small });
  cluster.start(0, "./side.ts", "oursSend", servers, token);
  await transport.take();
  return {
    run: (times) =>
      seconds(async () => {
        for (let i = 0; i < times; i++) await transport.take();
      }),
    dispose: async () => {
      await transport.close();
      await cluster.stop();
    },
  };
}

async function weights(): Promise<Subject> {
  const cluster = await clusterOfBench(1);
  const { url: servers, token } = cluster;
  const transport = natsTransport({ servers, token, run: "bench", capacity: 128 });
  const connection = await connect({ servers, token });
  let left = 0;
  let done = (): void => undefined;
  connection.subscribe("ours.done", {
    callback: () => {
      if (--left === 0) done();
    },
  });
  let id = 0;
  const once = async (): Promise<void> => {
    left = receivers;
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    await transport.publish({ id: id++, arrays });
    await all;
  };
  for (let i = 0; i < receivers; i++) cluster.start(0, "./side.ts", "oursReceive", servers, token);
  await once();
  return {
    run: (times) =>
      seconds(async () => {
        for (let i = 0; i < times; i++) await once();
      }),
    dispose: async () => {
      await transport.close();
      await connection.close();
      await cluster.stop();
    },
  };
}

/** What the way between machines costs, beside NATS's own client on the same messages. */
export const transportFigures: readonly TimedFigure[] = [
  {
    kind: "timed",
    name: "a chunk of experience of 100 kB from other machines to the trainer, stored in a file",
    engine: "host",
    unit: "ms",
    steps: 500,
    ours: experience,
    peers: { nats: { script: "bare_nats.ts", case: "experience", params: {} } },
    bars: [{ kind: "ratio", against: "nats", atMost: 1.25 }],
  },
  {
    kind: "timed",
    name: "10 MB of weights from the trainer to 8 workers",
    engine: "host",
    unit: "ms",
    steps: 5,
    ours: weights,
    peers: { nats: { script: "bare_nats.ts", case: "weights", params: {} } },
    bars: [{ kind: "ratio", against: "nats", atMost: 1.3 }],
  },
];
