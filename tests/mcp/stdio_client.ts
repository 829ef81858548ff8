/**
 * A client of `tercet mcp` over standard input and output, in tests.
 *
 * @module
 */

import { assert } from "@std/assert";
import { runtimeVariables } from "../../scripts/launch/deno_process.ts";
import { permissionFlags } from "../../scripts/permissions.ts";
import { ProcessOutput } from "../support/process_output.ts";
import { waitUntil } from "../support/wait_until.ts";
import { withOwnStd } from "../support/with_own_std.ts";
import type { AnyMessage } from "./mcp_client.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Options of {@linkcode mcpCommandLine}. */
interface CommandLineOptions {
  /**
   * The only unix socket that the process may listen on or connect to; it may
   * use no other part of the network then.
   *
   * @default the whole network
   */
  readonly onlySocket?: string;
}

/** Returns the arguments of Deno that run `tercet mcp` from source. */
export function mcpCommandLine(
  args: readonly string[],
  { onlySocket }: CommandLineOptions = {},
): readonly string[] {
  const flags = permissionFlags("tercet", { execPath: Deno.execPath() })
    .map((flag) =>
      flag === "--allow-net" && onlySocket !== undefined
        ? `${flag}=unix:${onlySocket}`
        : flag
    );
  return [
    ...withOwnStd(["run", ...flags]),
    `${ROOT}services/cli/main.ts`,
    "mcp",
    ...args,
  ];
}

/** A process of `tercet mcp`, from its start to its end. */
export class StdioMcp implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stdout: ProcessOutput;
  readonly #stderr: ProcessOutput;
  #ids = 0;
  #isInputClosed = false;
  #hasEnded = false;

  /** Starts the process with arguments behind `mcp`. */
  constructor(
    args: readonly string[],
    { env = {}, ...options }: CommandLineOptions & {
      readonly env?: Readonly<Record<string, string>>;
    } = {},
  ) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...mcpCommandLine(args, options)],
      cwd: ROOT,
      clearEnv: true,
      env: { ...runtimeVariables(Deno.env.toObject()), ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#stdout = new ProcessOutput(this.#child.stdout);
    this.#stderr = new ProcessOutput(this.#child.stderr);
    void this.#child.status.then(() => this.#hasEnded = true);
  }

  /** The process id. */
  get pid(): number {
    return this.#child.pid;
  }

  /** The log so far. */
  get log(): string {
    return this.#stderr.text;
  }

  /** Sends a request and waits for its answer. */
  async ask(method: string, params: object = {}): Promise<AnyMessage> {
    const id = ++this.#ids;
    await this.send({ jsonrpc: "2.0", id, method, params });
    return await this.#answerTo(id, method);
  }

  /** Hands a client's message on; returns the answer, which requests have. */
  async pass(message: AnyMessage): Promise<AnyMessage | undefined> {
    await this.send(message);
    const { id, method } = message;
    return id === undefined ? undefined : await this.#answerTo(id, method);
  }

  /** Sends a message. */
  async send(message: AnyMessage): Promise<void> {
    const line = `${JSON.stringify(message)}\n`;
    await this.#input.write(new TextEncoder().encode(line));
  }

  async #answerTo(id: unknown, method: string): Promise<AnyMessage> {
    let answer: AnyMessage;
    await waitUntil(() => {
      answer = this.#stdout.lines.map((one) => JSON.parse(one))
        .find((one) => one.id === id);
      if (answer !== undefined) return true;
      if (!this.#hasEnded) return false;
      throw new Error(`the process has ended; its log:\n${this.log}`);
    }, { what: `the answer to ${method}` });
    return answer;
  }

  /** Begins the session. */
  async open(): Promise<AnyMessage> {
    return await this.ask("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
  }

  /** Calls a tool, which must not fail, and returns the text of its result. */
  async call(name: string, args: object): Promise<string> {
    const { result } = await this.ask("tools/call", { name, arguments: args });
    const text = result.content.map((one: AnyMessage) => one.text).join("\n");
    assert(result.isError !== true, `${name}: ${text}\n${this.log}`);
    return text;
  }

  /** Ends the input, and returns the exit code. */
  async end(): Promise<number> {
    await this.#closeInput();
    return (await this.#child.status).code;
  }

  /** Halts the process, so that requests to it wait. */
  halt(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Kills the process, as a crash would; does nothing when it has ended. */
  async kill(): Promise<void> {
    if (!this.#hasEnded) this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#closeInput();
    await Promise.all([this.#stdout.ended, this.#stderr.ended]);
  }

  /** Kills the process if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #closeInput(): Promise<void> {
    if (this.#isInputClosed) return;
    this.#isInputClosed = true;
    // The process may have ended before.
    await this.#input.close().catch(() => {});
  }
}
