import { Argument, type Command } from "commander";
import { EspalierError, printableText, systemClock } from "../../core/index.ts";
import { type EngineName, findPlugins, installPlugin, type Plugin } from "../../engine/index.ts";
import { option, type Values, withOptions } from "../options.ts";
import { callName, type Self, thisProgram } from "../run-again.ts";
import { statusLine } from "../terminal.ts";
import { jsonText } from "../text.ts";
import { check, checkText, summary } from "./check.ts";
import { type InstallableKind, installAndTry } from "./install.ts";
import { listText, probeHere, probePlugin, survey } from "./list.ts";

/** Enough to see a net learn, and for a median. */
const STEPS = 300;

const isEngine = (name: string): name is EngineName => name === "wasm" || name === "xla";

const listOptions = { json: option.json() };
const installOptions = { force: option.force("install again although it is there") };
const checkOptions = { engine: option.engine("only this one"), json: option.json() };

export function registerEngine(program: Command, self: Self = thisProgram()): void {
  const call = callName(self);
  const engine = program.command("engine");

  withOptions(engine.command("list"), listOptions)
    .description("the engines and plugins there are, and which one runs")
    .action(async (options: Values<typeof listOptions>) => {
      const found = await survey(findPlugins(), (plugin) => probePlugin(plugin, self), process.env);
      console.log(options.json ? jsonText(found) : printableText(listText(found, call)));
    });

  withOptions(engine.command("install"), installOptions)
    .description("get an XLA plugin with pip, check it and keep it in the cache directory")
    .addArgument(new Argument("[kind]", "for which device").choices(["cpu", "cuda"]).default("cpu"))
    .action(async (kind: InstallableKind, { force = false }: Values<typeof installOptions>) => {
      const status = statusLine(process.stderr);
      const installer = {
        install: installPlugin,
        call,
        probe: (plugin: Plugin) => probePlugin(plugin, self),
      };
      try {
        const text = await installAndTry(kind, force, installer, status.say);
        status.end();
        console.log(printableText(text));
      } catch (error) {
        status.end();
        throw error;
      }
    });

  withOptions(engine.command("check"), checkOptions)
    .description("train a small net on each engine and print what was measured")
    .action(async (options: Values<typeof checkOptions>) => {
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

  program
    .command("engine-probe", { hidden: true })
    .description("start one plugin in this process and tell the parent what came of it")
    .argument("<plugin>", "JSON")
    .action((plugin: string) => {
      process.send?.(probeHere(JSON.parse(plugin) as Plugin), () => process.disconnect());
    });
}
