import { createWriteStream } from "node:fs";
import { join } from "node:path";
import {
  consoleSink,
  csvSink,
  jsonlSink,
  Logger,
  logFileSink,
  openStatsStore,
  type SinkOptions,
  statsStoreSink,
  tensorBoardSink,
  wandbSink,
} from "../../src/metrics/index.ts";

/** A logger with every sink that writes on this machine, and what closes it all. */
export async function allLocalSinks(
  folder: string,
  choice: SinkOptions = {},
): Promise<{ readonly logger: Logger; close(): Promise<void> }> {
  const store = await openStatsStore(join(folder, "stats.db"));
  const stream = createWriteStream(join(folder, "console.txt"));
  const logger = new Logger({
    sinks: [
      consoleSink({ ...choice, stream }),
      logFileSink(join(folder, "run.log"), choice),
      jsonlSink(join(folder, "metrics.jsonl"), choice),
      csvSink(join(folder, "metrics.csv"), choice),
      tensorBoardSink(join(folder, "tensorboard"), choice),
      wandbSink({ directory: folder, project: "bench", ...choice }),
      statsStoreSink(store, choice),
    ],
  });
  logger.open({ id: "bench", name: "bench", startedAt: Date.now(), config: null });
  return {
    logger,
    close: async () => {
      const { sinks } = await logger.close();
      await store.close();
      await new Promise((resolve) => stream.end(resolve));
      for (const { name, lost, waiting, spilled } of sinks)
        if (lost + waiting + spilled > 0) throw new Error(`${name} has not got everything`);
    },
  };
}
