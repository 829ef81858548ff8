/**
 * Runs programs for what they print.
 *
 * @module
 */

/**
 * Runs a program and returns what it writes to stdout.
 *
 * @param options.cwd The folder to run it in; the present one unless given.
 * @throws {Error} When it is not installed, or does not end with 0: what it
 * said.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<string> {
  const fault = `Cannot run "${program} ${args.join(" ")}"`;
  const command = new Deno.Command(program, {
    ...options,
    args: [...args],
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output().catch((cause) => {
    throw new Error(`${fault}: install ${program}`, { cause });
  });
  const decoder = new TextDecoder();
  if (code === 0) return decoder.decode(stdout);
  const said = decoder.decode(stderr).trim();
  throw new Error(`${fault}: it ended with ${code}: ${said}`);
}
