import { Argument, type Command } from "commander";
import { findPlugins, installPlugin, type PluginKind } from "../../engine/index.ts";
import { type InstallableKind, installAndTry } from "./install.ts";
import { listText } from "./list.ts";
import { probeHere, probePlugin, type Self, thisProgram } from "./probe.ts";
import { statusLine } from "./status-line.ts";
import { survey } from "./survey.ts";

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** `espalier engine list | install | check`. */
export function registerEngine(program: Command, self: Self = thisProgram()): void {
  const engine = program.command("engine").description("the engines that math runs on");

  engine
    .command("list")
    .description("the engines and plugins there are, and which one runs")
    .option("--json", "print JSON")
    .action(async (options: { readonly json?: boolean }) => {
      const found = await survey(findPlugins(), (plugin) => probePlugin(plugin, self), process.env);
      console.log(options.json ? json(found) : listText(found));
    });

  engine
    .command("install")
    .description("get an XLA plugin with pip, check it and keep it in the cache directory")
    .addArgument(new Argument("[kind]", "for which device").choices(["cpu", "cuda"]).default("cpu"))
    .option("--force", "install again although it is there")
    .action(async (kind: InstallableKind, options: { readonly force?: boolean }) => {
      const status = statusLine(process.stderr);
      const installer = {
        install: installPlugin,
        find: findPlugins,
        probe: (plugin: Parameters<typeof probePlugin>[0]) => probePlugin(plugin, self),
      };
      try {
        const text = await installAndTry(kind, options.force ?? false, installer, status.say);
        status.end();
        console.log(text);
      } catch (error) {
        status.end();
        throw error;
      }
    });

  engine
    .command("probe", { hidden: true })
    .description("start one plugin in this process and print what came of it, as JSON")
    .addArgument(new Argument("<kind>").choices(["cpu", "cuda", "tpu"]))
    .argument("<path>")
    .action((kind: PluginKind, path: string) => {
      console.log(JSON.stringify(probeHere(path, kind)));
    });
}
