import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { jsonText } from "./text.ts";

/** `espalier schema`. */
export function registerSchema(program: Command): void {
  program
    .command("schema")
    .option("--out <file>", "write it to a file")
    .addHelpText(
      "after",
      `
In VS Code with the YAML extension, begin a file with: # yaml-language-server: $schema=./espalier.schema.json

Examples:
  espalier schema --out espalier.schema.json`,
    )
    .action(async ({ out }: { readonly out?: string }) => {
      const { configSchema } = await import("../config/index.ts");
      const text = jsonText(await configSchema());
      if (out === undefined) console.log(text);
      else writeFileSync(out, `${text}\n`);
    });
}
