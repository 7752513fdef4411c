/** Workers and evaluators of runs over a NATS server, as `espalier cluster status` shows them. */
import { EspalierError, errorText } from "../core/index.ts";
import type { ClusterStatus } from "./api.ts";

/** Seconds for which a server is waited for. */
const PATIENCE = 2;
let reading: Promise<ClusterStatus> | undefined;

/** Reads who takes part in the runs of the server in $NATS_URL. Pages that ask at the same time share the answer. */
export function readCluster(env: NodeJS.ProcessEnv = process.env): Promise<ClusterStatus> {
  reading ??= readFrom(env.NATS_URL ?? "", env.NATS_TOKEN || undefined).finally(() => {
    reading = undefined;
  });
  return reading;
}

async function readFrom(servers: string, token: string | undefined): Promise<ClusterStatus> {
  if (servers === "") return { problem: "set NATS_URL to the address of a server and start again", runs: [] };
  const { natsBroker, readStatus } = await import("../cluster/index.ts");
  try {
    const broker = await natsBroker({ servers, token, patience: PATIENCE, warn: () => undefined });
    try {
      const now = Date.now();
      const runs = (await readStatus(broker)).map(({ run, state, members }) => {
        const queued = members.find(({ numbers }) => numbers.queued !== undefined)?.numbers.queued;
        return {
          run,
          state,
          ...(queued !== undefined && { queued }),
          members: members.map(({ name, kind, host, doing, numbers: { staleness, rate } }) => ({
            name,
            role: kind,
            host,
            doing,
            seen: now,
            ...(staleness !== undefined && { staleness }),
            ...(rate !== undefined && { rate }),
          })),
        };
      });
      return { server: broker.address, runs };
    } finally {
      await broker.close();
    }
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    return { problem: errorText(error), runs: [] };
  }
}
