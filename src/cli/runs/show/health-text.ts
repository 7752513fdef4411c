import { columns } from "../../columns.ts";
import { amountText, countText, numberText } from "../text/numbers.ts";
import { ageText } from "../text/times.ts";
import type { Shown } from "./read.ts";

/** What monitors say of a run: its heartbeat, values that are not finite, what they counted. */
export function healthLines({ run, curves, health }: Shown, now: number): readonly string[] {
  const broken = curves.filter(({ notFinite }) => notFinite > 0);
  const rows: readonly (readonly string[])[] = [
    ["heartbeat", heartbeatText(run, now)],
    ...(broken.length === 0
      ? []
      : [["not finite", broken.map(({ key, notFinite }) => `${key} ${countText(notFinite)}`).join(", ")]]),
    ...health.map(({ name, value, text, unit, step, axis }) => [
      name,
      `${text ?? (value === undefined ? "" : numberText(value))}${unit ? ` ${unit}` : ""}, at ${amountText(step, axis)}`,
    ]),
  ];
  return columns(rows);
}

function heartbeatText({ heartbeat, endedAt }: Shown["run"], now: number): string {
  if (heartbeat === undefined) return "none was filed";
  return endedAt === undefined
    ? `${ageText(now - heartbeat)} ago`
    : `the last one ${ageText(endedAt - heartbeat)} before the end`;
}
