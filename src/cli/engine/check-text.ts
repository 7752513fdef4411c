import { columns } from "../columns.ts";
import type { Agreement, CheckReport } from "./check.ts";
import { NET } from "./training.ts";

/** A report for machines: figures instead of every loss. */
export function summary({ measured, agreement, ...rest }: CheckReport): object {
  return {
    net: NET,
    ...rest,
    engines: measured.map(({ training, ...about }) => ({
      ...about,
      compileMs: training.firstMs,
      stepMs: training.stepMs,
      firstLoss: training.losses[0],
      lastLoss: training.losses.at(-1),
    })),
    agreement,
  };
}

/** What `espalier engine check` prints. */
export function checkText({ steps, measured, agreement, failures, notes }: CheckReport): string {
  const rows = measured.map(({ engine, devices, training }) => [
    engine,
    String(devices.length),
    milliseconds(training.firstMs),
    milliseconds(training.stepMs),
    (training.losses[0] ?? Number.NaN).toFixed(5),
    (training.losses.at(-1) ?? Number.NaN).toFixed(5),
  ]);
  return [
    `${NET}, ${steps} steps, the loss read after each`,
    "",
    ...columns([["engine", "devices", "compile", "a step", "first loss", "last loss"], ...rows]),
    "",
    ...measured.map(({ engine, description, devices }) => `${engine}: ${description}: ${devices.join(", ")}`),
    ...(agreement ? [agreementText(agreement)] : []),
    ...notes.map((note) => `not checked: ${note}`),
    ...failures.map((failure) => `failed: ${failure}`),
  ].join("\n");
}

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(3) : ms.toFixed(0)} ms`;

const agreementText = ({ losses, tolerance, randomBits }: Agreement): string =>
  `between engines: losses differ by at most ${losses.toExponential(1)} of their size ` +
  `(${tolerance} is allowed), random bits ${randomBits ? "are equal" : "differ"}`;
