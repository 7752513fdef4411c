import ts from "typescript";
import { compilerOptions, root } from "./compiler-options.ts";

/** The exported functions of modules of `src/`, as one would write their calls: `sum(x, { axis, keepdims })`. */
export function signaturesOf(modules: readonly string[]): readonly ReadonlyMap<string, readonly string[]>[] {
  const files = modules.map((path) => `${root}src/${path}`);
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  return files.map((file) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} is no module`);
    const found = new Map<string, readonly string[]>();
    for (const symbol of checker.getExportsOfModule(module)) {
      const calls = callsOf(checker, symbol);
      if (calls.length > 0)
        found.set(
          symbol.name,
          calls.map((call) => `${symbol.name}(${call})`),
        );
    }
    return found;
  });
}

function callsOf(checker: ts.TypeChecker, exported: ts.Symbol): string[] {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  if (!(symbol.flags & ts.SymbolFlags.Value) || !symbol.valueDeclaration) return [];
  const type = checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration);
  return type
    .getCallSignatures()
    .map((signature) => signature.parameters.map((p) => parameter(checker, p)).join(", "));
}

/** A parameter's name; of options, their names. */
function parameter(checker: ts.TypeChecker, symbol: ts.Symbol): string {
  const declaration = symbol.valueDeclaration as ts.ParameterDeclaration;
  if (symbol.name !== "options" && ts.isIdentifier(declaration.name)) {
    const optional = declaration.questionToken || declaration.initializer ? "?" : "";
    return `${declaration.dotDotDotToken ? "..." : ""}${symbol.name}${optional}`;
  }
  const type = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(symbol, declaration));
  return `{ ${type
    .getProperties()
    .map(({ name }) => name)
    .join(", ")} }`;
}
