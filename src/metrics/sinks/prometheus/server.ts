import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { EspalierError } from "../../../core/index.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Connections at a time: a scrape or two, not what a scanner or a broken proxy opens. */
const mostConnections = 32;
/** Milliseconds: for a request to be there, and for a connection on which nothing happens. */
const patience = 5000;

/**
 * Serves what `text` gives at /metrics. Does not keep the process alive. Connections beyond a few end the one that has
 * been idle for the longest, so that nobody who only holds them open keeps others out, or slows the run.
 */
export async function serveMetrics(host: string, port: number, text: () => string): Promise<MetricsServer> {
  const timeouts = { headersTimeout: patience, requestTimeout: patience, keepAliveTimeout: patience };
  const server = createServer({ ...timeouts, connectionsCheckingInterval: patience }, (request, response) => {
    const { socket } = request;
    answering.add(socket);
    response.on("close", () => answering.delete(socket));
    const path = request.url?.split("?")[0];
    if (path !== "/metrics") response.writeHead(404).end("see /metrics\n");
    else if (request.method !== "GET" && request.method !== "HEAD")
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    else response.writeHead(200, { "content-type": EXPOSITION_TYPE }).end(text());
  });
  const answering = new Set<Socket>();
  const open = new Set<Socket>(); // Oldest first.
  server.on("connection", (socket) => {
    socket.unref();
    socket.setTimeout(patience, () => socket.destroy());
    socket.on("close", () => open.delete(socket));
    open.add(socket);
    if (open.size <= mostConnections) return;
    const idle = [...open].find((other) => !answering.has(other));
    idle?.destroy();
  });
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
