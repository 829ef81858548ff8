/**
 * `tercet completion`: writes scripts that complete commands and flags in a
 * shell. The scripts run the program itself to list them, so they are never out
 * of date.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../shared/command_line.ts";
import { quote } from "../shared/quote.ts";

const COMMAND = {
  usage: "tercet completion bash | zsh",
  about: "Prints a completion script for commands and flags of tercet and " +
    'tercet-worker: eval "$(tercet completion bash)" in ~/.bashrc, or eval ' +
    '"$(tercet completion zsh)" in ~/.zshrc after compinit. Exit codes: 0 ' +
    "success, 2 invalid arguments.",
  positionals: 1,
} as const;

/** A shell function that lists commands, or flags as `--help` shows them. */
const WORDS = `_tercet_words() {
  # $1 is the program; the words before the one that is completed follow.
  case "$CURRENT_WORD" in
  -*) "$@" --help 2>/dev/null | grep -oE '^ +--[a-z][a-z_-]*' | tr -d ' ' ;;
  *) if [ "$#" -le 2 ]; then "$@" --commands 2>/dev/null; fi ;;
  esac
}
`;

const BASH = `${WORDS}
_tercet() {
  local CURRENT_WORD="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(CURRENT_WORD="$CURRENT_WORD" \
    _tercet_words "\${COMP_WORDS[@]:0:COMP_CWORD}")" -- "$CURRENT_WORD"))
}
complete -o default -F _tercet tercet tercet-worker
`;

const ZSH = `${WORDS}
_tercet() {
  local CURRENT_WORD="\${words[CURRENT]}"
  local -a found
  found=(\${(f)"$(CURRENT_WORD="$CURRENT_WORD" _tercet_words \
    "\${(@)words[1,CURRENT-1]}")"})
  compadd -- $found
  (( \${#found} )) || _files
}
compdef _tercet tercet tercet-worker
`;

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH };

/** Runs the command; returns the exit code. */
export function runCompletion(args: readonly string[], io: CommandIo): number {
  const read = readCommand({}, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const [shell = ""] = read.positionals;
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script !== undefined) {
    io.out(script);
    return 0;
  }
  const fault = `Cannot complete for ${quote(shell)}: there are bash and zsh`;
  return wrongArguments(fault, { io, command: COMMAND }).exitCode;
}
