import { Argument, type Command, type Option } from "commander";

export function registerCompletion(program: Command): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
The script completes the command espalier, as npm install --global gives it or an alias names it.

Examples:
  espalier completion bash > ~/.local/share/bash-completion/completions/espalier
  espalier completion zsh > "\${fpath[1]}/_espalier"
  espalier completion fish > ~/.config/fish/completions/espalier.fish
  source <(espalier completion bash)             in this shell alone`,
    )
    .action((shell: keyof typeof scripts) => console.log(scripts[shell](nodesOf(program))));
}

/** A command with what can follow it. */
interface Node {
  /** Its words, as `engine list`; empty for the program. */
  readonly path: readonly string[];
  readonly does: string;
  readonly commands: readonly string[];
  readonly options: readonly OptionNode[];
  readonly choices: readonly string[];
  /** True where an argument is a file or a directory. */
  readonly files: boolean;
}

type OptionNode = ReturnType<typeof optionNode>;

const FILE = /file|path|dir|out|module|checkpoint|store|runs?\b/i;

/** The program's commands as a list, those that are hidden left out. */
function nodesOf(command: Command, path: readonly string[] = []): readonly Node[] {
  const help = command.createHelp();
  const inner = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const { registeredArguments: given } = command;
  const node = {
    path,
    does: command.description(),
    commands: inner.map((each) => each.name()),
    options: help.visibleOptions(command).map(optionNode),
    choices: given.flatMap(({ argChoices }) => argChoices ?? []),
    files: given.some((each) => !each.argChoices && FILE.test(`${each.name()} ${each.description}`)),
  };
  return [node, ...inner.flatMap((each) => nodesOf(each, [...path, each.name()]))];
}

const optionNode = ({ short, long, description, argChoices, flags, required, optional }: Option) => ({
  flags: [short, long].filter((flag) => flag !== undefined),
  does: description,
  /** Values that it takes; undefined where it takes none. */
  values:
    required || optional ? { choices: argChoices ?? [], files: !argChoices && FILE.test(flags) } : undefined,
});

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The part that bash and zsh share. Finds the command that was typed, in `at`; then `offers` has what can follow, and
 * `files` is 1 where a file can.
 */
function walk(nodes: readonly Node[], typed: string): string {
  const key = (path: readonly string[]): string => path.join(" ");
  const steps = nodes.slice(1).map(({ path }) => {
    const [before, word] = [key(path.slice(0, -1)), path.at(-1)];
    return `      ${quoted(`${before}/${word}`)}) at=${quoted(key(path))} ;;`;
  });
  const values = nodes.flatMap(({ path, options }) =>
    options.flatMap(({ flags, values }) =>
      values
        ? [
            `    ${flags.map((flag) => quoted(`${key(path)}/${flag}`)).join("|")}) offers=${quoted(values.choices.join(" "))}; files=${values.files ? 1 : 0} ;;`,
          ]
        : [],
    ),
  );
  const others = nodes.map(
    ({ path, commands, choices, options, files }) => `        ${quoted(key(path))})
          offers=${quoted([...commands, ...choices].join(" "))}; files=${files ? 1 : 0}
          flags=${quoted(options.flatMap((each) => each.flags).join(" "))} ;;`,
  );
  return `  for word in ${typed}; do
    case "$at/$word" in
${steps.join("\n")}
    esac
  done
  case "$at/$prev" in
${values.join("\n")}
    *)
      case "$at" in
${others.join("\n")}
      esac
      case "$cur" in -*) offers=$flags; files=0 ;; esac ;;
  esac`;
}

const scripts = {
  bash: (nodes: readonly Node[]): string => `# Completion of espalier for bash.
_espalier() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' offers='' flags='' files=0 word
${walk(nodes, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  COMPREPLY=($(compgen -W "$offers" -- "$cur"))
  if [ "$files" = 1 ] && [ \${#COMPREPLY[@]} = 0 ]; then compopt -o default 2>/dev/null; fi
}
complete -F _espalier espalier`,

  zsh: (nodes: readonly Node[]): string => `#compdef espalier
# Completion of espalier for zsh.
_espalier() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} at='' offers='' flags='' files=0 word
  local -a typed=("\${(@)words[2,CURRENT-1]}")
${walk(nodes, `"\${(@)typed}"`)}
  [ -n "$offers" ] && compadd -- \${=offers}
  if [ "$files" = 1 ]; then _files; fi
}
if [ "\${funcstack[1]}" = "_espalier" ]; then _espalier "$@"; else compdef _espalier espalier; fi`,

  fish: (nodes: readonly Node[]): string => {
    const lines = nodes.flatMap(({ path, commands, options, choices, files }) => {
      const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
      const none = commands.length > 0 ? [`not __fish_seen_subcommand_from ${commands.join(" ")}`] : [];
      const here = [...seen, ...none].join("; and ") || "true";
      const start = `complete -c espalier -n ${quoted(here)}`;
      const doesOf = (name: string): string =>
        nodes.find((each) => each.path.join(" ") === [...path, name].join(" "))?.does ?? "";
      return [
        ...commands.map((name) => `${start} -a ${name} -d ${quoted(doesOf(name))}`),
        ...(choices.length > 0 ? [`${start} -a ${quoted(choices.join(" "))}`] : []),
        ...(files ? [`${start} -F`] : []),
        ...options.map(({ flags, does, values }) => {
          const names = flags.map((flag) =>
            flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
          );
          const takes = values
            ? [
                `-r`,
                ...(values.choices.length > 0 ? [`-a ${quoted(values.choices.join(" "))}`] : []),
                ...(values.files ? ["-F"] : []),
              ]
            : [];
          return [start, ...names, ...takes, `-d ${quoted(does)}`].join(" ");
        }),
      ];
    });
    return ["# Completion of espalier for fish.", "complete -c espalier -f", ...lines].join("\n");
  },
} as const;
