import { EspalierError } from "../../core/index.ts";

/** Frames of these files are ours: everything under `src/`, or beside this module once bundled. */
const here: string = import.meta.url ?? ""; // a classic script of a browser has none
const own = here.includes("/src/engine/")
  ? here.slice(0, here.indexOf("/src/engine/") + "/src/".length)
  : here.slice(0, here.lastIndexOf("/") + 1);
const ownPath = own.replace(/^file:\/\//, "");

/** The line of the user's code that led here, as `file:line:column`, or undefined where there is none. */
export function userLine(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 60;
  const stack = new Error("location").stack ?? "";
  Error.stackTraceLimit = limit;
  for (const line of stack.split("\n").slice(1)) {
    const place = /\(?((?:file:\/\/)?\/?[^()\s][^()]*:\d+:\d+)\)?$/.exec(
      line.trim().replace(/^at /, ""),
    )?.[1];
    if (!place || place.startsWith("node:") || place.includes("/node_modules/")) continue;
    if (own !== "" && (place.startsWith(own) || place.startsWith(ownPath)) && !place.includes(".test."))
      continue;
    return place.replace(/^file:\/\//, "");
  }
  return undefined;
}

/** An error about what the user wrote, pointing at the line that wrote it. */
export function userError(code: string, message: string, fix: string): EspalierError {
  const at = userLine();
  return new EspalierError(code, message, at === undefined ? { fix } : { fix, at });
}
