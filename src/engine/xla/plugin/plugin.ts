import { basename } from "node:path";

export type PluginKind = "cpu" | "cuda" | "tpu";

/** An XLA plugin on this machine. */
export interface Plugin {
  readonly kind: PluginKind;
  readonly path: string;
  /** Source of the plugin. */
  readonly source: "environment" | "option" | "cache" | "python";
  /** Folders with libraries that the plugin needs and may not find by itself. */
  readonly libraryPaths?: readonly string[];
}

/** The kind that a plugin's path suggests; CPU where it says nothing. */
export function guessKind(path: string): PluginKind {
  if (/tpu/i.test(basename(path))) return "tpu";
  return /cuda|gpu/i.test(path.split("/").slice(-2).join("/")) ? "cuda" : "cpu";
}

export function isKind(text: string | undefined): text is PluginKind {
  return text === "cpu" || text === "cuda" || text === "tpu";
}
