import { EspalierError } from "../core/index.ts";

/** The layers under way, outermost first. Tracing is synchronous, so one stack serves all. */
const under: string[] = [];

/** Runs part of a model under its name, so that errors can say where they happened. */
export function inLayer<T>(name: string, run: () => T): T {
  under.push(name);
  try {
    return run();
  } finally {
    under.pop();
  }
}

/** Where in the model this is, e.g. `hidden.dense0`. */
export const layerPath = (): string => under.join(".");

/** An error about a layer, naming its path. */
export function layerError(kind: string, code: string, message: string, fix: string): EspalierError {
  const path = layerPath();
  return new EspalierError(code, path === "" ? `${kind}: ${message}` : `${kind} at "${path}": ${message}`, { fix });
}
