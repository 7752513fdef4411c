import ts from "typescript";
import manifest from "../package.json" with { type: "json" };
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

/** What users of the package can name. */
export interface PublicNames {
  /** Exports of the doors; those of a namespace such as `nn` too. */
  readonly exported: ReadonlySet<string>;
  /** Members of exported types, of what exported functions take, and of exported objects. */
  readonly members: ReadonlySet<string>;
  /** Exports without a doc comment, with the door they come through. */
  readonly undocumented: readonly string[];
}

/** The public names of all doors that package.json lists, by the compiler. */
export function publicNames(): PublicNames {
  const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith(".json"));
  const files = doors.map((door) => `${root}src/${door === "." ? "index" : `doors/${door.slice(2)}`}.ts`);
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  const exported = new Set<string>();
  const members = new Set<string>();
  const undocumented: string[] = [];
  const addMembers = (type: ts.Type): void => {
    for (const each of type.isUnionOrIntersection() ? type.types : [type])
      for (const { name } of each.getProperties()) members.add(name);
  };
  const visit = (module: ts.Symbol, path: string): void => {
    for (const alias of checker.getExportsOfModule(module)) {
      const symbol = resolved(checker, alias);
      exported.add(alias.name);
      if (symbol.flags & ts.SymbolFlags.ValueModule) {
        visit(symbol, `${path}${alias.name}.`);
        continue;
      }
      if (!isDocumented(checker, symbol)) undocumented.push(`${path}${alias.name}`);
      if (symbol.flags & ts.SymbolFlags.Type) addMembers(checker.getDeclaredTypeOfSymbol(symbol));
      if (!(symbol.flags & ts.SymbolFlags.Value) || !symbol.valueDeclaration) continue;
      const type = checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration);
      if (symbol.flags & ts.SymbolFlags.Variable) addMembers(type);
      for (const { parameters } of type.getCallSignatures())
        for (const parameter of parameters)
          addMembers(checker.getNonNullableType(checker.getTypeOfSymbol(parameter)));
    }
  };
  for (const [i, file] of files.entries()) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} is no module`);
    visit(module, doors[i] === "." ? "espalier: " : `espalier/${doors[i]?.slice(2)}: `);
  }
  return { exported, members, undocumented };
}

/** Whether it has a doc comment, or is another name of what has one: `const { relu } = functions`, `type A = b.A`. */
function isDocumented(checker: ts.TypeChecker, symbol: ts.Symbol): boolean {
  if (symbol.getDocumentationComment(checker).length > 0) return true;
  const [declaration] = symbol.declarations ?? [];
  if (!declaration) return false;
  if (ts.isBindingElement(declaration)) {
    const whole = checker.getTypeAtLocation(declaration.parent);
    const property = whole.getProperty(symbol.name);
    return property !== undefined && isDocumented(checker, resolved(checker, property));
  }
  if (!ts.isTypeAliasDeclaration(declaration) || !ts.isTypeReferenceNode(declaration.type)) return false;
  const named = checker.getSymbolAtLocation(declaration.type.typeName);
  return named !== undefined && named !== symbol && isDocumented(checker, resolved(checker, named));
}

const resolved = (checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
