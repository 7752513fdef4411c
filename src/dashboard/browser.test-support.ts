import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/**
 * The Chromium of this machine. Where ESPALIER_REQUIRE names `chromium` its absence is an error, elsewhere the reason to
 * skip.
 */
export function findChromium(): { readonly program: string } | { readonly missing: string } {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const places = (process.env.PATH ?? "").split(delimiter);
  const program = names
    .flatMap((name) => places.map((place) => join(place, name)))
    .find((path) => existsSync(path));
  if (program !== undefined) return { program };
  const missing = `there is no ${names.join(", ")} in PATH`;
  if (process.env.ESPALIER_REQUIRE?.split(",").includes("chromium"))
    throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
  return { missing };
}

/** Starts a Chromium that reaches nothing but what it is told to open. */
export const startBrowser = (program: string): Promise<Browser> =>
  chromium.launch({
    executablePath: program,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
