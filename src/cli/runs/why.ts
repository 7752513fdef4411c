import { countText, printable } from "../../core/index.ts";
import type { HookDecisions } from "../../metrics/index.ts";
import type { Style } from "../terminal.ts";
import { headedTable } from "../text.ts";

export const whyJson = ({ decisions, verdicts, undecided }: HookDecisions): unknown =>
  verdicts ?? (undecided ? [undecided] : decisions);

export function whyLines(
  { decisions, verdicts = [], undecided }: HookDecisions,
  { colors }: Pick<Style, "colors">,
): readonly string[] {
  if (undecided) return [printable(`${undecided.hook}: ${undecided.text}`, 1000)];
  const rows = decisions.map(({ fromStep, toStep, event, ran, times, why }) => [
    fromStep === toStep ? countText(fromStep) : `${countText(fromStep)} to ${countText(toStep)}`,
    event,
    ran ? "ran" : "did not run",
    countText(times),
    why,
  ]);
  return [
    ...verdicts.map(({ text }) => printable(text, 1000)),
    ...(verdicts.length > 0 ? [""] : []),
    ...headedTable(["steps", "event", "what", "times", "because"], rows, colors),
  ];
}
