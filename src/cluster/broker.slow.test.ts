import { afterAll, beforeAll, describe } from "vitest";
import { brokerConformance } from "./broker.test-support.ts";
import type { Broker } from "./broker.ts";
import { natsBroker } from "./nats.ts";
import { requireNats, type TestServer, testServers } from "./server.test-support.ts";

/** The same suite that the simulated server passes (simulation.test.ts): what is simulated is what NATS does. */
describe.skipIf(!requireNats())("NATS", () => {
  const servers = testServers();
  let server: TestServer;
  let scenes = 0;
  beforeAll(async () => {
    server = await servers.start();
  });
  const brokers: Broker[] = [];
  afterAll(async () => {
    for (const broker of brokers) await broker.close();
  });

  brokerConformance("NATS", async (test) => {
    const connect = async (): Promise<Broker> => {
      const broker = await natsBroker({ servers: server.url, token: server.token, warn: () => undefined });
      brokers.push(broker);
      return broker;
    };
    await test({ connect, name: `scene-${scenes++}` });
  });
});
