import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { EspalierError } from "../../../core/index.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves what `text` gives at /metrics. Does not keep the process alive. */
export async function serveMetrics(host: string, port: number, text: () => string): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (path !== "/metrics") response.writeHead(404).end("see /metrics\n");
    else if (request.method !== "GET" && request.method !== "HEAD")
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    else response.writeHead(200, { "content-type": EXPOSITION_TYPE }).end(text());
  });
  server.on("connection", (socket) => socket.unref());
  server.unref();
  await listening(server, host, port);
  // Nothing that goes wrong with a reader is the business of the run.
  server.on("error", () => undefined);
  const { address, family, port: given } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${given}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "is in use" : `cannot be had: ${cause.message}`;
      const fix = "choose another port, or 0 for any that is free";
      reject(
        new EspalierError("SINK_UNAVAILABLE", `prometheusSink: port ${port} of ${host} ${why}`, {
          fix,
          cause,
        }),
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}
