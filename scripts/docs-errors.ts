// Writes docs/errors.md: every error code of the sources with the messages and fixes that it comes with.
// `npx tsx scripts/docs-errors.ts` after a code was added or reworded; a test compares the page with the sources.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { root } from "./compiler-options.ts";

/** A place in the sources that makes an error. */
interface Told {
  readonly message: string;
  readonly fix: string | undefined;
}

const codeForm = /^[A-Z]+(_[A-Z0-9]+)+$/;
const anyCode = /"[A-Z]+(_[A-Z0-9]+)+"/;

/** Literals that look like codes and are none: environment variables, codes of Node, XLA, MLflow and S3. */
const others =
  /^(AWS|NATS|ESPALIER|ERR|EAI)_|^RESOURCE_|^WHEN_REQUIRED$|^MANIFEST_MD5$|^NOT_REGULAR$|^OPTION_NOT_MADE$/;

/** What codes mean that have many messages, or whose messages are put together from parts. */
const meanings: Readonly<Record<string, string>> = {
  DASHBOARD_FORBIDDEN:
    "the dashboard refuses a request that comes from another page or by another name of this machine",
  DASHBOARD_REQUEST_INVALID: "a request to the dashboard is not one of its API",
  CLUSTER_HOST: "the address that the server should listen at is not one of this machine",
  CLUSTER_PORT_TAKEN: "another program listens at the server's port, or the port needs rights",
  CONFIG_SYNTAX: "the file is neither YAML nor JSON: each mistake with its line and column",
  DATA_FILES_SKIPPED: "a warning: files of a folder are no PNG or JPEG, and are left out",
  DATA_LEFT_OVER: "a warning: rows that fill no whole batch are not used",
  DATA_ROWS_SKIPPED: "a warning: rows that could not be used were left out, as the source was told to",
  DATA_SKIPPED: "a warning: examples that could not be used were left out, as onBadExample says",
  FILE_FAILED: "a path or an output that the system does not let be used: its own words",
  HOOK_FAILED: 'hook "<name>" failed in <event>: the cause has what it threw',
  OPTION_INVALID: "<what>: <option> is <value>, which is not <what it takes>",
  OPTION_UNKNOWN:
    '<what>: there is no option "<name>"; did you mean "<nearest>"? The fix names all there are',
  LESSON_EMPTY: 'lesson "<name>" gives no prompts',
  LESSON_FAILED: 'lesson "<name>" threw an error',
  PARAMETER_MISSING: "a layer was given parameters that lack one of its own",
  SINK_REFUSED: "the server of a sink refused what was sent: its own words",
  OBSERVATION_OUTSIDE: "a warning: an observation lies outside of the environment's space",
  RANK_FAILED: "a rank ended with an error: its number, machine, process and error",
  RANK_LOST: "a rank does not answer any more: its number, machine and process",
  SETUP_INVALID: "the file exports no setup of a training, or one that is not whole",
  SHAPE_MISMATCH: "shapes do not fit together: the message has the operation and both shapes",
  STORE_REGION: "the bucket is in another region",
  WHEEL_INVALID: "a package lacks the plugin or program, or has one that its RECORD does not promise",
  XLA_COMPILE: "XLA could not compile the program: its own words",
};

/** At most this many messages of one code are shown. */
const shownMessages = 3;

/** All codes, in order, with what each says. */
export function errorCodes(): ReadonlyMap<string, readonly Told[]> {
  const found = new Map<string, Told[]>();
  const files = (readdirSync(`${root}src`, { recursive: true }) as string[])
    .filter((file) => file.endsWith(".ts") && !/\.(test|test-d|test-support)\.ts$/.test(file))
    .sort();
  for (const file of files) {
    const text = readFileSync(`${root}src/${file}`, "utf8");
    if (!anyCode.test(text)) continue;
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteral(node) && codeForm.test(node.text) && !others.test(node.text)) {
        const told = toldWith(node);
        if (told) found.set(node.text, [...(found.get(node.text) ?? []), told]);
      }
      ts.forEachChild(node, visit);
    };
    const reading = {
      languageVersion: ts.ScriptTarget.ES2022,
      jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
    };
    visit(ts.createSourceFile(file, text, reading, true));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The message and the fix that stand behind a code; undefined where the code is only compared. */
function toldWith(code: ts.Node): Told | undefined {
  let node = code;
  while (
    ts.isConditionalExpression(node.parent) ||
    (ts.isBinaryExpression(node.parent) &&
      node.parent.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
  )
    node = node.parent;
  const { parent } = node;
  if (ts.isPropertyAssignment(parent)) {
    const name = parent.name.getText();
    const messages = {
      unknown: "there is no option <name>",
      invalid: "an option has a value it cannot have",
    };
    if (name !== "unknown" && name !== "invalid") return undefined;
    return { message: messages[name], fix: undefined };
  }
  const list =
    ts.isNewExpression(parent) || ts.isCallExpression(parent)
      ? parent.arguments
      : ts.isArrayLiteralExpression(parent)
        ? parent.elements
        : undefined;
  if (!list) return undefined;
  const behind = list.slice(list.indexOf(node as ts.Expression) + 1);
  if (ts.isArrayLiteralExpression(parent) && behind.every((one) => codeForm.test(textOf(one))))
    return undefined;
  const texts = behind.map(textOf);
  const fixes = [...behind.map(fixOf), ...texts.slice(1)].filter((text) => text !== undefined && text !== "");
  // In a list, what stands behind a code that is not first is its fix: [pattern, code, fix].
  const isFix = ts.isArrayLiteralExpression(parent) && list[0] !== node;
  const message = texts[0] ?? "";
  return isFix ? { message: "", fix: message } : { message, fix: fixes[0] };
}

/** The text of an argument, with <name> for what is put in; empty where it is no text. */
function textOf(node: ts.Expression): string {
  if (ts.isParenthesizedExpression(node)) return textOf(node.expression);
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans.map(({ expression, literal }) => placeholder(expression) + literal.text).join("")
    );
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return textOf(node.left) + textOf(node.right);
  if (ts.isConditionalExpression(node)) return textOf(node.whenTrue) || textOf(node.whenFalse);
  return "";
}

/** <file> for `${file}`, `${printable(file)}` and `${run.file}`; nothing for a hint that may be there. */
function placeholder(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return `<${node.text}>`;
  if (ts.isPropertyAccessExpression(node)) return `<${node.name.text}>`;
  if (ts.isCallExpression(node)) {
    if (/didYouMean|hint/i.test(node.expression.getText())) return "";
    const [first] = node.arguments;
    if (first && !ts.isFunctionLike(first)) return placeholder(first);
    return ts.isPropertyAccessExpression(node.expression) ? placeholder(node.expression.expression) : "...";
  }
  if (ts.isConditionalExpression(node)) return textOf(node.whenTrue) || textOf(node.whenFalse);
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) return placeholder(node.expression);
  return "...";
}

function fixOf(node: ts.Expression): string | undefined {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  for (const member of node.properties)
    if (ts.isPropertyAssignment(member) && member.name.getText() === "fix")
      return textOf(member.initializer) || undefined;
  return undefined;
}

const cell = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replaceAll("{{", "{ {")
    .replaceAll("*", "\\*")
    .replaceAll("_", "\\_")
    .replaceAll("[", "\\[")
    .trim();

/** The page. */
export function errorsPage(): string {
  const rows = [...errorCodes()].map(([code, told]) => {
    const different = (texts: readonly (string | undefined)[]): string =>
      [
        ...new Set(
          texts.filter((text) => text !== undefined && text !== "").map((text) => cell(text as string)),
        ),
      ]
        .slice(0, shownMessages)
        .join("; or: ");
    const said = cell(meanings[code] ?? "") || different(told.map(({ message }) => message));
    const broad = told.length > 20;
    return `| \`${code}\` | ${said} | ${broad ? "as the error says" : different(told.map(({ fix }) => fix))} |`;
  });
  return `# Errors by code

Every error of Espalier is an \`EspalierError\`: its \`code\` stays the same from version to version, its message names both sides of the mistake, and its \`fix\` says what to do. A command prints all three; with \`--debug\` also the stack and the causes. [troubleshooting.md](troubleshooting.md) has the ten that come first.

\`\`\`ts run
import { EspalierError, nn } from "espalier";
import { supervisedTrainer } from "espalier/supervised";

try {
  supervisedTrainer({ model: nn.mlp({ hidden: [16], out: 2 }), trainingConfig: { epochs: -1 } });
} catch (error) {
  if (!(error instanceof EspalierError)) throw error;
  console.log(error.code, error.fix);
}
\`\`\`

This list is made from the sources by \`scripts/docs-errors.ts\`. &lt;name> stands for what the error puts in. Where a code has several messages, up to ${shownMessages} are shown; a fix that depends on the case is left out here, and stands in the error. Errors that wrap another (\`HOOK_FAILED\`, \`ENVIRONMENT_FAILED\`, \`DATA_SOURCE_FAILED\`) have it as their \`cause\`.

| code | what it says | fix |
|---|---|---|
${rows.join("\n")}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(`${root}docs/errors.md`, errorsPage());
