/**
 * Follows a page literally, as a reader would, in a copy of the project and on
 * free ports.
 *
 * @module
 */

import { differenceFrom } from "./compare_output.ts";
import type { Block } from "./markdown_page.ts";
import type { PlacedPage } from "./pages.ts";
import {
  PageShell,
  ServiceTerminal,
  type TerminalOptions,
} from "./terminal.ts";

/** The ports that pages name; in tests each is replaced by a free one. */
const PAGE_PORTS = [
  8080,
  8081,
  6070,
  9090, // ratelimit
  8070,
  9091, // tasks
  8000,
  9092, // relayer
  8100,
  9093,
  8101,
  8102,
  9094,
  9095, // key servers
  6379,
  9000,
  3000,
  8082,
  8083,
  6071,
  8071, // servers of the reader
];

/**
 * The main port and the metrics port of each service. These services share the
 * names of the variables for them, so the reader's `deno` command sets them for
 * the service that is started.
 */
const SERVICE_PORTS: Readonly<Record<string, readonly [number, number]>> = {
  ratelimit: [8080, 9090],
  tasks: [8070, 9091],
  relayer: [8000, 9092],
  keyserver: [8100, 9093],
};

/** The folders in which a reader works. */
export interface ReaderOptions {
  /** A copy of the project. */
  readonly checkout: string;
  /** A folder for temporary files, which exists while the page is followed. */
  readonly scratch: string;
}

/** Follows one page. */
export class Reader {
  readonly #page: PlacedPage;
  readonly #options: ReaderOptions;
  readonly #ports: ReadonlyMap<number, number>;
  readonly #terminals: ServiceTerminal[] = [];

  /** Creates a reader of `page`. */
  constructor(page: PlacedPage, options: ReaderOptions) {
    this.#page = page;
    this.#options = options;
    this.#ports = freePorts(PAGE_PORTS);
  }

  /**
   * Runs all blocks of the page, one after the other.
   *
   * @throws {Error} At the first block that doesn't do what the page says.
   */
  async follow(): Promise<void> {
    const terminal = await this.#terminal();
    const shell = new PageShell(this.#options.scratch, terminal);
    try {
      let printed: string | undefined;
      for (const block of this.#page.page.blocks) {
        try {
          printed = await this.#take(block, { shell, terminal, printed });
        } catch (error) {
          const where = `${this.#page.path}:${block.line}`;
          const services = this.#terminals.map(({ output }) =>
            output.slice(-2_000)
          );
          throw new Error(
            [`Cannot follow ${where}: ${toMessage(error)}`, ...services]
              .join("\n--- a terminal:\n"),
            { cause: error },
          );
        }
      }
    } finally {
      await shell.end();
      await this.#stopServices();
    }
  }

  /** Runs a block; returns what it printed. */
  async #take(
    block: Block,
    { shell, terminal, printed }: {
      readonly shell: PageShell;
      readonly terminal: TerminalOptions;
      readonly printed: string | undefined;
    },
  ): Promise<string | undefined> {
    const { use, language } = block;
    if (use.kind === "not_run" || use.kind === "checked_only") return undefined;
    const text = this.#withFreePorts(block.text);
    if (use.kind === "file") {
      const path = `${this.#options.checkout}/${use.path}`;
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), {
        recursive: true,
      });
      await Deno.writeTextFile(path, text);
      return undefined;
    }
    if (use.kind === "serve") {
      this.#terminals.push(
        await ServiceTerminal.start(text, {
          ...terminal,
          until: use.until.map((one) => this.#withFreePorts(one)),
        }),
      );
      return undefined;
    }
    if (use.kind === "after_ctrl_c") await this.#stopServices();
    switch (language) {
      case "sh":
      case "setup":
        return await this.#run(shell, text);
      case "ts":
        return await this.#runScript(shell, { text, line: block.line });
      case "output": {
        if (printed === undefined) {
          throw new Error("Cannot compare output: no block before it was run");
        }
        const difference = differenceFrom(block.text, printed);
        if (difference !== undefined) throw new Error(difference);
      }
    }
    return printed;
  }

  async #run(shell: PageShell, text: string): Promise<string> {
    const { stdout, stderr, failed } = await shell.run(text);
    if (failed.length > 0) {
      throw new Error(
        [`failed: ${failed.join("; ")}`, stdout, stderr].join("\n"),
      );
    }
    return this.#withPagePorts(stdout);
  }

  /**
   * Runs a script, in which `"…"` and `"0x…"` are replaced by the shell's
   * variables KEY and ACCOUNT.
   */
  async #runScript(
    shell: PageShell,
    { text, line }: { readonly text: string; readonly line: number },
  ): Promise<string> {
    const name = `page_script_${line}.ts`;
    const said = await this.#run(
      shell,
      `printf '%s\\n' "\${KEY-}" "\${ACCOUNT-}"\n`,
    );
    const [key = "", account = ""] = said.split("\n");
    const filled = text.replaceAll('"0x…"', JSON.stringify(account))
      .replaceAll('"…"', JSON.stringify(key));
    await Deno.writeTextFile(`${this.#options.checkout}/${name}`, filled);
    return await this.#run(shell, `deno run -A --quiet ${name}\n`);
  }

  async #stopServices(): Promise<void> {
    await Promise.all(this.#terminals.splice(0).map((one) => one.end()));
  }

  #withFreePorts(text: string): string {
    return text.replaceAll(
      /(?<![\w.])(\d{4})(?![\w.]*\d)/g,
      (port) => String(this.#ports.get(Number(port)) ?? port),
    );
  }

  #withPagePorts(text: string): string {
    return [...this.#ports].reduce(
      (replaced, [page, free]) =>
        replaced.replaceAll(
          new RegExp(`(?<!\\d)${free}(?!\\d)`, "g"),
          `${page}`,
        ),
      text,
    );
  }

  /**
   * Returns the folder and environment of its commands, in which the project's
   * programs can be called by their names.
   */
  async #terminal(): Promise<TerminalOptions> {
    const { checkout, scratch } = this.#options;
    const port = (page: number): string => String(this.#ports.get(page));
    const programs = `${scratch}/bin`;
    await Deno.mkdir(programs);
    const program = async (name: string, lines: readonly string[]) =>
      await Deno.writeTextFile(
        `${programs}/${name}`,
        ["#!/bin/sh", ...lines, ""].join("\n"),
        { mode: 0o755 },
      );
    const pinned = (await Deno.readTextFile(`${checkout}/.deno-version`))
      .trim();
    await program("deno", [
      'case "$*" in',
      ...Object.entries(SERVICE_PORTS).map(([name, [main, metrics]]) =>
        `*start:${name}*) : "\${PORT:=${port(main)}}" ` +
        `"\${METRICS_PORT:=${port(metrics)}}"; export PORT METRICS_PORT ;;`
      ),
      `*"task dev"*) : "\${PORT:=${port(8080)}}"; export PORT ;;`,
      "esac",
      `exec ${Deno.execPath()} "$@"`,
    ]);
    await program("npx", [
      `[ "$1 $2" = "-y deno@${pinned}" ] || exit 97`,
      "shift 2",
      'exec deno "$@"',
    ]);
    for (const name of Object.keys(SERVICE_PORTS)) {
      await program(name, [
        `cd ${checkout} && exec deno task --quiet start:${name} "$@"`,
      ]);
    }
    await program("tercet", [
      `cd ${checkout} && exec deno task --quiet tercet "$@"`,
    ]);
    return {
      cwd: checkout,
      env: {
        PATH: `${programs}:${Deno.env.get("PATH") ?? ""}`,
        NO_COLOR: "1",
        // What commands write for their user stays in the test's folder.
        XDG_DATA_HOME: `${scratch}/data`,
        CLAUDE_CONFIG_DIR: `${scratch}/claude`,
        GRPC_PORT: port(8081),
        DEBUG_PORT: port(6070),
        TASKS_PORT: port(8070),
        TASKS_METRICS_PORT: port(9091),
        RELAYER_PORT: port(8000),
        RELAYER_METRICS_PORT: port(9092),
        KEYSERVER_1_PORT: port(8100),
        KEYSERVER_1_METRICS_PORT: port(9093),
        KEYSERVER_2_PORT: port(8101),
        KEYSERVER_2_METRICS_PORT: port(9094),
        KEYSERVER_3_PORT: port(8102),
        KEYSERVER_3_METRICS_PORT: port(9095),
      },
    };
  }
}

/** Returns a free port of this machine for each port that pages name. */
function freePorts(pagePorts: readonly number[]): ReadonlyMap<number, number> {
  const listeners = pagePorts.map(() =>
    Deno.listen({ hostname: "127.0.0.1", port: 0 })
  );
  const ports = new Map(pagePorts.map((port, index) => [
    port,
    listeners[index]?.addr.port ?? 0,
  ]));
  for (const listener of listeners) listener.close();
  return ports;
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
