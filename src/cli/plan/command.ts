import type { Command } from "commander";
import type { ConfigPlace } from "../../config/index.ts";
import { amountText, countText, printable, printableText, tableLines } from "../../core/index.ts";
import { option, type Values, withOptions } from "../options.ts";
import { type Style, type Surroundings, styleFor, thisProcess } from "../terminal.ts";
import { jsonText } from "../text.ts";
import { ranByLoader } from "../train.ts";
import type { EventTimes, HookTimes } from "./timeline.ts";

const planOptions = {
  set: option.set(),
  runs: option.runs(),
  // Of a run without an end, these.
  epochs: option.count("<n>", "lay out this many epochs at most", { default: 10_000 }),
  json: option.json(),
};

const WIDTH = 50;

export function registerPlan(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("plan"), planOptions)
    .argument(
      "<file|run>",
      "run.yaml, run.json, run.ts with a run, a run's directory, id or name, or a file that exports a training set-up",
    )
    .addHelpText(
      "after",
      `
Nothing is trained and nothing is written. What only the run can know is marked: the clock, conditions on metrics.
Exit codes: 0, or 1 where the configuration has a mistake.

Examples:
  espalier plan run.yaml
  espalier plan run.yaml --set training.epochs=100
  espalier plan run.yaml --json`,
    )
    .action(async (file: string, options: Values<typeof planOptions>) => {
      const { locateConfig } = await import("../../config/index.ts");
      const place = locateConfig(file, options.runs);
      if (await ranByLoader(place.file, place.base)) return;
      const plan = await readPlan(place, options.set, options.epochs);
      const style = styleFor(around.out, around.env, false);
      await around.out.write(`${options.json ? jsonText(planJson(plan)) : planText(plan, style)}\n`);
    });
}

type RunPlan = Awaited<ReturnType<typeof readPlan>>;

/** Builds the run of a file and asks its hooks when they run. */
async function readPlan(place: ConfigPlace, set: readonly string[], most: number) {
  const [{ layOut, timeline }, { setupAt }, { plannedTrainer }, { Trainer }] = await Promise.all([
    import("./timeline.ts"),
    import("../prove-resume/part.ts"),
    import("../../config/index.ts"),
    import("../../trainer/index.ts"),
  ]);
  const { setup, built } = await setupAt(place, { set });
  const { task } = setup;
  const trainer = built ? plannedTrainer(built) : new Trainer(setup);
  try {
    const order = trainer.hooks.plan();
    const layout = layOut(task, trainer.config, most);
    const width = Math.max(1, Math.min(WIDTH, layout.end.batches));
    const hooks = order.hooks.map((hook) => timeline(hook, layout, width));
    return { name: trainer.config.name, order, layout, hooks };
  } finally {
    await trainer.hooks.close();
  }
}

const planJson = ({ name, order, layout, hooks }: RunPlan): unknown => ({
  name,
  order: order.order,
  edges: order.edges,
  end: layout.end,
  complete: layout.complete,
  hooks,
});

function planText({ name, order, layout, hooks }: RunPlan, { colors }: Style): string {
  const { end, complete, events } = layout;
  const counted = ["epochs", "batches", "updates", "samples"].flatMap((unit) =>
    end[unit] ? [amountText(end[unit], unit)] : [],
  );
  const per = end.batches / Math.max(1, hooks[0]?.bar.length ?? 1);
  const validations = events.onValidationEnd.length;
  return printableText(
    [
      colors.bold(printable(name)),
      `  ${complete ? "" : "the first "}${counted.join(", ")}; ${validations === 0 ? "no validation" : amountText(validations, "validations")}`,
      "",
      colors.bold("order of hooks"),
      ...order.text.split("\n").map((line) => `  ${line}`),
      "",
      colors.bold("timeline"),
      ...tableLines(
        hooks.map((hook) => [hook.name, hook.bar, whenText(hook)]),
        { longest: 1000 },
      ).map((line) => `  ${line.trimEnd()}`),
      colors.dim(
        `  a letter is ${per === 1 ? "1 batch" : `${Number(per.toFixed(1))} batches`}: # it runs, ? it may run, . it does not`,
      ),
    ].join("\n"),
  );
}

/** `onEpochEnd 4 times: epochs 40, 80, 120, 160`. */
function whenText({ events, unit, schedule }: HookTimes): string {
  const parts = events.map((each) => timesText(each, schedule === undefined ? undefined : unit));
  const unforeseen = new Set(events.flatMap((each) => each.unforeseen));
  for (const unit of unforeseen)
    parts.push(`${schedule}, ${unit === "seconds" ? "by the clock" : `as the run counts ${unit}`}`);
  return parts.filter((part) => part !== "").join("; ") || "never";
}

function timesText(times: EventTimes, unit: string | undefined): string {
  const { event, moments, atMost, more, maybe } = times;
  const count = times.times + maybe;
  if (count === 0) return "";
  if (atMost && unit === undefined) return `${event} after each call`;
  const often = count === 1 ? "once" : `${countText(count)} times`;
  const bound = more ? "more than " : maybe > 0 ? "asked " : atMost && count > 1 ? "at most " : "";
  return `${event} ${bound}${often}${unit === undefined || maybe > 0 ? "" : `: ${momentsText(moments, times, unit)}`}`;
}

const NAMED = 4;

function momentsText(moments: EventTimes["moments"], { times, last }: EventTimes, unit: string): string {
  const at = (counters: Record<string, number>): string => countText(counters[unit] ?? 0);
  const named = moments.slice(0, NAMED).map(at);
  const final = last && times > NAMED ? [times > NAMED + 1 ? `..., ${at(last)}` : at(last)] : [];
  return `${unit} ${[...named, ...final].join(", ")}`;
}
