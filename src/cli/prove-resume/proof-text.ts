import { firstText } from "../checkpoint/diff-text.ts";
import { columns } from "../columns.ts";
import type { DoneKill, Proof } from "./prove.ts";

/** What `prove-resume` prints. */
export function proofText({ engine, epochs, batches, kills, components, differences, exact }: Proof): string {
  const rows = components.map(({ name, hashes: [a, b] }) => [
    name,
    hashText(a),
    hashText(b),
    a === b ? "same" : "DIFFERENT",
  ]);
  const wrong = components.filter(({ hashes: [a, b] }) => a !== b).length;
  return [
    `on ${engine}: ${epochs} epochs, ${batches} batches in one go`,
    ...kills.map((kill) => killText(kill, epochs)),
    "",
    ...columns([["component", "in one go", "resumed", ""], ...rows]),
    "",
    exact
      ? `the resumed run equals the one in one go, bit for bit, in all ${components.length} parts`
      : `NOT THE SAME: ${wrong} of ${components.length} parts differ; first difference: ${firstText(differences)}`,
  ].join("\n");
}

const killText = (
  { at, epoch, before, after, pid, checkpoint, resumedAt }: DoneKill,
  epochs: number,
): string =>
  `SIGKILL to process ${pid} after batch ${at} (${before} of ${before + after} in epoch ${epoch + 1} of ${epochs}); resumed from ${checkpoint}, batch ${resumedAt}`;

const hashText = (hash: string | undefined): string => hash?.slice(0, 16) ?? "missing";
