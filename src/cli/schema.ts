import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { option, type Values, withOptions } from "./options.ts";
import { jsonText } from "./text.ts";

const schemaOptions = { out: option.text("<file>", "write it to a file") };

export function registerSchema(program: Command): void {
  withOptions(program.command("schema"), schemaOptions)
    .addHelpText(
      "after",
      `
In VS Code with the YAML extension, begin a file with: # yaml-language-server: $schema=./espalier.schema.json

Examples:
  espalier schema --out espalier.schema.json`,
    )
    .action(async ({ out }: Values<typeof schemaOptions>) => {
      const { configSchema } = await import("../config/index.ts");
      const text = jsonText(await configSchema());
      if (out === undefined) console.log(text);
      else writeFileSync(out, `${text}\n`);
    });
}
