import { machineLines } from "./machine.ts";
import type { Report } from "./report.ts";
import { markdownTable, problemLines, tableRows } from "./table.ts";

const intro = `# Benchmarks

Written by the bench: \`npm run bench -- NAME --peers --write-docs\` replaces the section of that name. Ours and the
peers take turns in one run, each in batches of steps; a figure is the median over the rounds, with the least and the
most in brackets.
`;

/** The page with a report's section in place of the one of the same bench, or added at the end. */
export function withSection(page: string | undefined, report: Report): string {
  const [open, close] = [`<!-- bench:${report.bench} -->`, `<!-- /bench:${report.bench} -->`];
  const section = `${open}\n${sectionText(report)}\n${close}`;
  if (page === undefined) return `${intro}\n${section}\n`;
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from < 0 || to < from) return `${page.trimEnd()}\n\n${section}\n`;
  return page.slice(0, from) + section + page.slice(to + close.length);
}

function sectionText(report: Report): string {
  const problems = problemLines(report);
  return [
    `## ${report.title}`,
    "",
    `\`${report.command}\`, ${report.date.slice(0, 10)}, ${report.rounds} rounds.`,
    "",
    ...machineLines(report.machine).map((line) => `- ${line}`),
    "",
    markdownTable(tableRows(report)),
    ...(problems.length > 0 ? ["", ...problems.map((line) => `- ${line}`)] : []),
  ].join("\n");
}
