import { Argument, type Command, Option } from "commander";
import { EspalierError, printableText, systemClock } from "../../core/index.ts";
import { type EngineName, findPlugins, installPlugin, type PluginKind } from "../../engine/index.ts";
import { callName, type Self, thisProgram } from "../run-again.ts";
import { statusLine } from "../terminal.ts";
import { jsonText } from "../text.ts";
import { check, checkText, summary } from "./check.ts";
import { type InstallableKind, installAndTry } from "./install.ts";
import { listText, probeHere, probePlugin, survey } from "./list.ts";

/** Enough to see a net learn, and for a median. */
const STEPS = 300;

const isEngine = (name: string): name is EngineName => name === "wasm" || name === "xla";

/** `espalier engine list | install | check`. */
export function registerEngine(program: Command, self: Self = thisProgram()): void {
  const call = callName(self);
  const engine = program.command("engine");

  engine
    .command("list")
    .description("the engines and plugins there are, and which one runs")
    .option("--json", "print JSON")
    .action(async (options: { readonly json?: boolean }) => {
      const found = await survey(findPlugins(), (plugin) => probePlugin(plugin, self), process.env);
      console.log(options.json ? jsonText(found) : printableText(listText(found, call)));
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
        call,
        probe: (plugin: Parameters<typeof probePlugin>[0]) => probePlugin(plugin, self),
      };
      try {
        const text = await installAndTry(kind, options.force ?? false, installer, status.say);
        status.end();
        console.log(printableText(text));
      } catch (error) {
        status.end();
        throw error;
      }
    });

  engine
    .command("check")
    .description("train a small net on each engine and print what was measured")
    .addOption(new Option("--engine <name>", "only this one").choices(["wasm", "xla"]))
    .option("--json", "print JSON")
    .action(async (options: { readonly engine?: EngineName; readonly json?: boolean }) => {
      const { engine: asked } = options;
      const report = await check({
        engines: asked ? [asked] : ["wasm", "xla"],
        required: asked ? [asked] : (process.env.ESPALIER_REQUIRE ?? "").split(",").filter(isEngine),
        steps: STEPS,
        clock: systemClock,
      });
      console.log(options.json ? jsonText(summary(report)) : printableText(checkText(report)));
      if (report.failures.length > 0)
        throw new EspalierError("ENGINE_CHECK_FAILED", "the check failed, for the reasons above", {
          fix: `see \`${call} engine list\`, and install again with \`${call} engine install --force\``,
        });
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
