import type { Program } from "../trace/program.ts";
import type { Value } from "../trace/value.ts";

/** A program as text for people, one node a line: what the wasm engine walks through. */
export function programText(program: Program): string {
  const names = new Map<Value, string>();
  const name = (value: Value) => names.get(value) ?? "?";
  program.inputs.forEach((input, i) => {
    names.set(input, `arg${i}`);
  });
  const lines = program.inputs.map((input) => `${name(input)}: ${input.type.text}`);
  program.nodes.forEach((node, i) => {
    node.outputs.forEach((output, k) => {
      names.set(output, node.outputs.length === 1 ? `v${i}` : `v${i}.${k}`);
    });
    const results = node.outputs.map((output) => `${name(output)}: ${output.type.text}`).join(", ");
    lines.push(`${results} = ${node.op.name}(${node.inputs.map(name).join(", ")})`);
  });
  return [...lines, `return ${program.outputs.map(name).join(", ")}`].join("\n");
}
