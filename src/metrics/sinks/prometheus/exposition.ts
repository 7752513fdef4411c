/** One line of a family. */
export interface Sample {
  /** Put behind the family's name. */
  readonly suffix?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "summary";
  readonly samples: readonly Sample[];
}

/** What the text format 0.0.4 is served as. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

function numeral(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function lineOf(name: string, { suffix = "", labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  return `${name}${suffix}{${pairs.join(",")}} ${numeral(value)}\n`;
}

/** Families in Prometheus' text format, version 0.0.4. */
export const exposition = (families: readonly Family[]): string =>
  families
    .map(
      ({ name, help, type, samples }) =>
        `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${samples.map((sample) => lineOf(name, sample)).join("")}`,
    )
    .join("");
