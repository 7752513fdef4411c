import { badOption, checkNames, checkSize, checkWord, isPlainObject, shown } from "../../core/index.ts";
import { activations } from "./activations.ts";
import type { CnnSpec, MlpSpec, PolicySpec } from "./spec.ts";

const fields: Readonly<Record<string, readonly string[]>> = {
  policy: ["encoder", "memory", "towers", "deviation", "logDeviation", "squash", "module"],
  mlp: ["kind", "hidden", "activation"],
  cnn: ["kind", "channels", "kernel", "strides", "hidden", "activation", "scale"],
  memory: ["kind", "width"],
  module: ["url", "name"],
};

function checkObject(kind: string, given: unknown): Readonly<Record<string, unknown>> {
  if (isPlainObject(given)) return given;
  throw badOption(kind, `it is ${shown(given)}`, "give an object, as PolicySpec describes it");
}

function checkFields(name: string, kind: string, given: unknown): void {
  checkNames(kind, checkObject(kind, given), fields[name] as readonly string[]);
}

function checkSizes(kind: string, option: string, given: unknown): void {
  if (given === undefined) return;
  if (!Array.isArray(given))
    throw badOption(kind, `${option} is ${shown(given)}`, "give a list, e.g. [64, 64]");
  given.forEach((size, i) => {
    checkSize(kind, `${option}[${i}]`, size);
  });
}

function checkEncoder(encoder: MlpSpec | CnnSpec): void {
  const kind = "policy.encoder";
  checkWord(kind, "kind", checkObject(kind, encoder).kind, ["mlp", "cnn"]);
  checkFields(encoder.kind, kind, encoder);
  checkSizes(kind, "hidden", encoder.hidden);
  if (encoder.activation !== undefined)
    checkWord(kind, "activation", encoder.activation, Object.keys(activations));
  if (encoder.kind === "mlp") return;
  checkSizes(kind, "channels", encoder.channels);
  if (!encoder.channels || encoder.channels.length === 0)
    throw badOption(kind, "there are no convolutions", "give channels, e.g. [32, 64, 64]");
  for (const option of ["kernel", "strides"] as const) {
    const given = encoder[option];
    if (typeof given === "number") checkSize(kind, option, given);
    else checkSizes(kind, option, given);
    if (Array.isArray(given) && given.length !== encoder.channels.length)
      throw badOption(
        kind,
        `${option} has ${given.length} numbers for ${encoder.channels.length} convolutions`,
        "give one for all, or one for each",
      );
  }
  const { scale = 1 } = encoder;
  for (const [name, each] of isPlainObject(scale) ? Object.entries(scale) : [["", scale] as const])
    if (!(Number.isFinite(each) && (each as number) > 0))
      throw badOption(
        kind,
        `scale${name && `.${name}`} is ${shown(each)}`,
        "give a number above 0, e.g. 255 for bytes",
      );
}

/** Refuses a description that does not describe a policy, naming what is wrong in it. */
export function checkSpec(spec: PolicySpec): void {
  checkFields("policy", "policy", spec);
  const { encoder, memory, towers, deviation, logDeviation, squash, module } = spec;
  if (encoder !== undefined) checkEncoder(encoder);
  if (memory !== undefined) {
    checkFields("memory", "policy.memory", memory);
    checkWord("policy.memory", "kind", memory.kind, ["gru", "lstm"]);
    checkSize("policy.memory", "width", memory.width);
  }
  if (towers !== undefined) checkWord("policy", "towers", towers, ["separate", "shared"]);
  if (deviation !== undefined) checkWord("policy", "deviation", deviation, ["independent", "dependent"]);
  if (logDeviation !== undefined && !Number.isFinite(logDeviation))
    throw badOption("policy", `logDeviation is ${shown(logDeviation)}`, "give a finite number, e.g. -0.5");
  if (squash !== undefined && typeof squash !== "boolean")
    throw badOption("policy", `squash is ${shown(squash)}`, "give true or false");
  if (module !== undefined) {
    checkFields("module", "policy.module", module);
    for (const option of ["url", "name"] as const)
      if (typeof module[option] !== "string")
        throw badOption("policy.module", `${option} is ${shown(module[option])}`, "give a text");
  }
}
