import { EspalierError, shown } from "../core/index.ts";

/** The layers under way, outermost first. Tracing is synchronous, so one stack serves all. */
const under: string[] = [];

/** Who is told what layers give, for summaries. */
export interface LayerWatcher {
  enter(path: string): void;
  leave(path: string, result: unknown): void;
}
let watcher: LayerWatcher | undefined;

/** Errors that say already where in the model they happened. */
const located = new WeakSet<EspalierError>();

/**
 * Runs part of a model under its name, so that errors can say where they happened. For models made of others.
 *
 * @example
 * ```ts
 * const h = inLayer("encoder", () => encoder.apply(childParams(params, "encoder"), x, options));
 * ```
 */
export function inLayer<T>(name: string, run: () => T): T {
  if (typeof name !== "string" || typeof run !== "function")
    throw layerError(
      "inLayer",
      "ARGUMENT_INVALID",
      `it was given ${shown(name)} and ${shown(run)}`,
      'give the name of the part and a function: inLayer("encoder", () => ...)',
    );
  under.push(name);
  const path = layerPath();
  try {
    watcher?.enter(path);
    const result = run();
    watcher?.leave(path, result);
    return result;
  } catch (error) {
    throw error instanceof EspalierError && !located.has(error) ? locate(error, path) : error;
  } finally {
    under.pop();
  }
}

/** An error of the engine, which knows nothing of layers, with the layer's path in front. */
function locate(error: EspalierError, path: string): EspalierError {
  const [message = ""] = error.message.split(` [${error.code}]`);
  const { fix, at } = error;
  const details = {
    cause: error,
    ...(fix === undefined ? {} : { fix }),
    ...(at === undefined ? {} : { at }),
  };
  const found = new EspalierError(error.code, `at "${path}": ${message}`, details);
  located.add(found);
  return found;
}

/** Where in the model this is, e.g. `hidden.dense0`. */
export const layerPath = (): string => under.join(".");

/** An error about a layer, naming its path. */
export function layerError(kind: string, code: string, message: string, fix: string): EspalierError {
  const path = layerPath();
  const error = new EspalierError(
    code,
    path === "" ? `${kind}: ${message}` : `${kind} at "${path}": ${message}`,
    {
      fix,
    },
  );
  located.add(error);
  return error;
}

/** Runs something and tells `by` of every layer in it. The layers around it do not count. */
export function watchLayers<T>(by: LayerWatcher, run: () => T): T {
  const [outer, around] = [watcher, under.splice(0)];
  watcher = by;
  try {
    return run();
  } finally {
    watcher = outer;
    under.splice(0, under.length, ...around);
  }
}
