import { EspalierError } from "../../core/index.ts";

/** A file that is not what the format says. */
export const broken = (what: string, cause?: unknown): EspalierError =>
  new EspalierError("SAFETENSORS_INVALID", `this is not a whole safetensors file: ${what}`, { cause });

/** A file whose end is missing. */
export const truncated = (what: string): EspalierError =>
  new EspalierError("SAFETENSORS_TRUNCATED", `the safetensors file is cut off: it has ${what}`, {
    fix: "take another copy of the file",
  });
