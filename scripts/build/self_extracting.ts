/**
 * Builds one file that contains Deno and a program: a shell script followed by
 * an archive. The first start unpacks the archive into a cache folder, and
 * every start runs the program from there. It needs sh, tar, gzip, tail and
 * mktemp.
 *
 * @module
 */

import { gzipSync } from "node:zlib";
import { createTar } from "./tar.ts";

/** The name of the module that a start runs. */
export const PROGRAM = "app.js";

/** The parts that {@linkcode createSelfExtracting} puts together. */
export interface SelfExtractingOptions {
  /** The name of the program in messages. */
  readonly name: string;
  /** The bytes of the Deno executable. */
  readonly runtime: Uint8Array;
  /**
   * The program `app.js`, the programs of its threads, and the parts that they
   * import.
   */
  readonly programs: readonly {
    readonly name: string;
    readonly content: Uint8Array;
  }[];
  /** Flags for `deno run`: the permissions of the program. */
  readonly flags: readonly string[];
  /**
   * Commands of the program that a link of the same name runs, whose name Deno
   * would not hand on.
   *
   * @default {[]}
   */
  readonly links?: readonly string[];
}

/**
 * Returns the bytes of the executable. The same options always give the same
 * bytes with the same Deno.
 */
export async function createSelfExtracting(
  options: SelfExtractingOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  // Uses the synchronous gzip, because the output of a stream depends on how
  // its input was cut.
  const archive = new Uint8Array(gzipSync(createTar([
    ...options.programs.map((program) => ({ ...program, mode: 0o644 })),
    { name: "deno", content: options.runtime, mode: 0o755 },
  ])));
  const hashes = {
    archive: await hashBytes(archive),
    runtime: await hashBytes(options.runtime),
  };
  const head = new TextEncoder().encode(createHead(options, hashes));
  const file = new Uint8Array(head.byteLength + archive.byteLength);
  file.set(head);
  file.set(archive, head.byteLength);
  return file;
}

async function hashBytes(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes));
  return new Uint8Array(digest).toHex().slice(0, 32);
}

function createHead(
  options: SelfExtractingOptions,
  hashes: { readonly archive: string; readonly runtime: string },
): string {
  const { links = [] } = options;
  const flags = options.flags.map(quoteForShell).join(" ");
  const link = links.length === 0
    ? ""
    : `case "\${0##*/}" in ${
      links.join(" | ")
    }) set -- "\${0##*/}" "$@" ;; esac\n`;
  const withOffset = (offset: string) =>
    `#!/bin/sh
# ${options.name}: this script, and behind it an archive of Deno and the program.
# It is unpacked once into \${TERCET_HOME:-\${XDG_CACHE_HOME:-~/.cache}}/tercet;
# programs with the same Deno share it.
set -eu
refuse() {
  echo "Cannot unpack ${options.name}: $1; set TERCET_HOME to a folder that this user may write to and run programs from" >&2
  exit 2
}
base="\${TERCET_HOME:-\${XDG_CACHE_HOME:-\${HOME:+$HOME/.cache}}}"
if [ -z "$base" ]; then refuse "HOME is not set"; fi
cache="$base/tercet"
home="$cache/${hashes.archive}"
runtime="$cache/deno-${hashes.runtime}"
if [ ! -f "$home/${PROGRAM}" ] || [ ! -x "$runtime/deno" ]; then
  umask 077
  mkdir -p "$home" "$runtime" 2>/dev/null || refuse "\\"$cache\\" cannot be made"
  part=$(mktemp -d "$home/part.XXXXXX")
  trap 'rm -rf "$part" "$part.last"' EXIT
  trap 'exit 1' HUP INT TERM
  tail -c +${offset} "$0" | tar -xzf - -C "$part"
  # Renames put whole files in place, though another one starts at the same time.
  if [ ! -x "$runtime/deno" ]; then mv -f "$part/deno" "$runtime/deno"; fi
  rm -f "$part/deno"
  # Tried, since not every shell's -x knows of noexec.
  "$runtime/deno" --version >/dev/null 2>&1 || refuse "programs may not run from \\"$cache\\""
  # The program comes last: it marks the folder as complete.
  mv -f "$part/${PROGRAM}" "$part.last"
  if [ -n "$(ls "$part")" ]; then mv -f "$part"/* "$home/"; fi
  mv -f "$part.last" "$home/${PROGRAM}"
  rm -rf "$part"
  trap - EXIT HUP INT TERM
fi
${link}export DENO_DIR="\${DENO_DIR:-$home/deno_dir}" DENO_NO_UPDATE_CHECK=1 TERCET_EXECUTABLE="$0"
exec "$runtime/deno" run --quiet --no-config --no-lock --no-remote --no-npm ${flags} "$home/${PROGRAM}" "$@"
exit 1
`;
  // The offset is padded to a fixed width, so that writing it into the script
  // does not change it.
  const width = 8;
  const length = new TextEncoder()
    .encode(withOffset("0".repeat(width))).byteLength;
  return withOffset(String(length + 1).padStart(width, "0"));
}

function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}
