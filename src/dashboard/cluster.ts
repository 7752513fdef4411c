/** Workers and evaluators of runs over a NATS server, as `espalier cluster status` shows them. */
import { EspalierError, errorText } from "../core/index.ts";

/** Seconds for which a server is waited for. */
const PATIENCE = 2;
let reading: ReturnType<typeof readFrom> | undefined;

/** Reads who takes part in the runs of the server in $NATS_URL. Pages that ask at the same time share the answer. */
export function readCluster(env: NodeJS.ProcessEnv = process.env) {
  reading ??= readFrom(env.NATS_URL ?? "", env.NATS_TOKEN || undefined).finally(() => {
    reading = undefined;
  });
  return reading;
}

/** `problem` says why there is nothing to see. */
async function readFrom(servers: string, token: string | undefined) {
  const nothing = (problem: string) => ({ problem, server: undefined, runs: [] });
  if (servers === "")
    return nothing(
      "No NATS server is known. To see workers and evaluators here, end the dashboard and start it with NATS_URL set to the address of theirs.",
    );
  const { natsBroker, readStatus } = await import("../cluster/index.ts");
  try {
    const broker = await natsBroker({ servers, token, patience: PATIENCE, warn: () => undefined });
    try {
      return { problem: undefined, server: broker.address, runs: await readStatus(broker) };
    } finally {
      await broker.close();
    }
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    return nothing(errorText(error));
  }
}
