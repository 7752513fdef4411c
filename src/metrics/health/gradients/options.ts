import { badOption, checkNames, checkSize, shown } from "../../../core/index.ts";

/** What gradients can suffer from that a run may be halted for. Not finite: NaN or infinite. */
export type Ailment = "notFinite" | "exploding" | "vanishing";

/** Options of {@link gradientMonitor}. */
export interface GradientMonitorOptions {
  /** Default `gradients`. */
  readonly name?: string;
  /** The values of each update that it judges, together. Default `["gradientNorm"]`. */
  readonly values?: readonly string[];
  /** Norms below it vanish; 0 for none. Default 1e-7. */
  readonly vanishing?: number;
  /** Norms above it explode; Infinity for none. Default 10. */
  readonly exploding?: number;
  /**
   * After how many updates in a row the run fails, for each ailment; false for never. Default `{ notFinite: 3 }`, the
   * others never. False alone: the run is never halted.
   */
  readonly halt?: false | { readonly [A in Ailment]?: number | false };
}

/** The options with everything filled in. */
export interface GradientPlan {
  readonly name: string;
  readonly values: readonly string[];
  readonly vanishing: number;
  readonly exploding: number;
  /** Infinity for never. */
  readonly halt: Readonly<Record<Ailment, number>>;
}

const kind = "gradientMonitor";

/** Completes and checks what the hook is made with. */
export function planOf(options: GradientMonitorOptions): GradientPlan {
  checkNames(kind, options, ["name", "values", "vanishing", "exploding", "halt"]);
  const { name = "gradients", values = ["gradientNorm"], vanishing = 1e-7, exploding = 10 } = options;
  if (!Array.isArray(values) || values.length === 0 || values.some((value) => typeof value !== "string"))
    throw badOption(
      kind,
      `values is ${shown(values)}`,
      'name what the task reports: values: ["gradientNorm"]',
    );
  if (!(typeof vanishing === "number" && vanishing >= 0 && Number.isFinite(vanishing)))
    throw badOption(kind, `vanishing is ${shown(vanishing)}`, "give a norm from 0 on, such as 1e-7");
  if (!(typeof exploding === "number" && exploding > vanishing))
    throw badOption(
      kind,
      `exploding is ${shown(exploding)}, and vanishing is ${vanishing}`,
      "give a norm above that at which gradients vanish, such as 10",
    );
  return { name, values, vanishing, exploding, halt: haltOf(options.halt) };
}

function haltOf(halt: GradientMonitorOptions["halt"] = {}): GradientPlan["halt"] {
  const never = Number.POSITIVE_INFINITY;
  if (halt === false) return { notFinite: never, exploding: never, vanishing: never };
  if (typeof halt !== "object" || halt === null)
    throw badOption(kind, `halt is ${shown(halt)}`, "give { notFinite: 3 }, or false for never");
  checkNames(`${kind}: halt`, halt, ["notFinite", "exploding", "vanishing"]);
  const after = (ailment: Ailment, fallback: number): number => {
    const given = halt[ailment];
    if (given === undefined) return fallback;
    return given === false ? never : checkSize(kind, `halt.${ailment}`, given);
  };
  return {
    notFinite: after("notFinite", 3),
    exploding: after("exploding", never),
    vanishing: after("vanishing", never),
  };
}
