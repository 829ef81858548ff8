/**
 * Reads the certificate files of a server, and reloads them when they change.
 *
 * @module
 */

import { type Clock, steadyClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { Periodic } from "../periodic.ts";
import { quote } from "../quote.ts";
import { describeError } from "../settled.ts";
import type { Part } from "../stopper.ts";
import type { ChangeReports } from "../watch/change_reports.ts";
import { readBounded, whyUnread } from "../watch/file_reads.ts";
import { PathWatcher } from "../watch/path_watcher.ts";
import {
  prepareServerTls,
  type ServerTls,
  type ServerTlsOutcome,
  type ServerTlsTexts,
} from "./server_tls.ts";

/** Paths of PEM files. */
interface CertificatePaths {
  /** The certificate, followed by those of intermediate authorities. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
  /**
   * The authorities that sign the certificates of clients.
   *
   * @default clients need no certificate
   */
  readonly clientCa?: string | undefined;
}

/** The settings that name the files. */
type CertificateSettings = Readonly<
  Record<"cert" | "key", string> & Partial<Record<"clientCa", string>>
>;

/** Options of {@linkcode CertificateFiles}. */
interface CertificateFilesOptions {
  /** Where the files are; the names may be symbolic links. */
  readonly paths: CertificatePaths;
  /**
   * Reports changes of the files, so that they are found at once.
   *
   * @default none: they are looked at every second
   */
  readonly reports?: ChangeReports | undefined;
  /** Logs each change, and files that can't be used. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
}

/** The files, in use, or why they can't be used. */
type CertificateFilesOutcome =
  | { readonly kind: "open"; readonly files: CertificateFiles }
  | { readonly kind: "invalid"; readonly problem: string };

/** How long after the start the files are read once more. */
const REREAD_MS = 1_000;
/** How long files have to be of no use before that is logged. */
const TELL_AFTER_MS = 1_000;
/**
 * The largest file that is read: a bundle of all public authorities has 250 KB.
 */
const MAX_FILE_BYTES = 1_048_576;
/**
 * How long before its expiry a certificate is warned about: a week, or a fifth
 * of its lifetime if that is shorter, as short-lived ones are replaced often.
 */
const SOON_MS = 7 * 86_400_000;
const SOON_SHARE = 0.2;

/** What was read at one time. */
interface Reading {
  /** All texts in one, to see whether they have changed. */
  readonly content: string;
  readonly outcome: ServerTlsOutcome;
}

/**
 * Checks the files that settings name. Returns a line for each fault, which
 * names the setting; an empty path is ignored.
 */
export async function certificateFaults(
  paths: CertificatePaths,
  settings: CertificateSettings,
): Promise<readonly string[]> {
  const { texts, problems } = await readTexts(paths);
  const faults = problems.map(({ of, problem }) =>
    `${problem} (${settings[of] ?? of})`
  );
  const { cert, key, clientCa } = texts;
  if (cert === undefined || key === undefined) return faults;
  const outcome = prepareServerTls({ cert, key, clientCa });
  if (outcome.kind === "usable") return faults;
  const named = outcome.of === "clientCa" ? settings.clientCa : undefined;
  const names = named ?? `${settings.cert} and ${settings.key}`;
  return [...faults, `${outcome.problem} (${names})`];
}

/**
 * Certificate files that are watched: a rename, a swapped symbolic link and a
 * file written in place are all noticed. Their content is compared, as it is
 * every half minute without a change, for file systems that show none.
 *
 * Files that can't be used change nothing. They are logged, once, only when
 * they are still unusable a second later: certificate and key are replaced one
 * after the other.
 */
export class CertificateFiles implements Part {
  /** Name in logs. */
  readonly name = "certificate files";
  readonly #options: CertificateFilesOptions;
  readonly #watcher: PathWatcher;
  readonly #reads: Periodic;
  #content: string;
  #current: ServerTls;
  /** The unusable content, since when it is, and whether it was logged. */
  #useless:
    | { readonly content: string; readonly sinceMs: number; isTold: boolean }
    | undefined;
  #toldOfEnd: "no" | "soon" | "passed" = "no";

  private constructor(
    options: CertificateFilesOptions,
    first: { readonly content: string; readonly tls: ServerTls },
  ) {
    this.#options = options;
    this.#content = first.content;
    this.#current = first.tls;
    const { clock, logger, reports } = options;
    const { cert, key, clientCa = "" } = options.paths;
    const paths = [cert, key, clientCa].filter((path) => path !== "");
    this.#reads = new Periodic({
      clock,
      run: () => this.#read(),
      onError: (error) =>
        logger.error("Cannot check the certificate files", {
          error: describeError(error),
        }),
    });
    this.#watcher = new PathWatcher({
      paths: () => paths,
      onChange: () => this.#reads.runOnce(),
      reports,
      clock,
      logger,
    });
  }

  /** Reads the files; they must be usable at the start. */
  static async open(
    options: CertificateFilesOptions,
  ): Promise<CertificateFilesOutcome> {
    const { content, outcome } = await readFiles(options.paths);
    if (outcome.kind === "unusable") {
      return { kind: "invalid", problem: outcome.problem };
    }
    const files = new CertificateFiles(options, { content, tls: outcome.tls });
    return { kind: "open", files };
  }

  /** The certificate for the next handshake. */
  get current(): ServerTls {
    return this.#current;
  }

  /** Watches the files from now on. */
  async start(): Promise<void> {
    this.#tellOfEnd();
    this.#reads.start();
    await this.#watcher.start();
    // They may have changed since they were opened.
    this.#reads.wakeIn(REREAD_MS);
  }

  /** Watches no longer. */
  async stop(): Promise<void> {
    await this.#reads.stop();
    await this.#watcher.stop();
  }

  /** Reads the files at once, as SIGHUP asks for; never rejects. */
  async reload(): Promise<void> {
    const { content, outcome } = await readFiles(this.#options.paths);
    if (outcome.kind === "usable") return this.#take(content, outcome.tls);
    this.#useless = { content, sinceMs: this.#nowMs(), isTold: true };
    this.#tellUseless(outcome.problem);
  }

  /** Reads the files now, as the watch does when they seem to have changed. */
  async runOnce(): Promise<void> {
    await this.#reads.runOnce();
  }

  async #read(): Promise<void> {
    const { content, outcome } = await readFiles(this.#options.paths);
    if (outcome.kind === "usable") {
      this.#take(content, outcome.tls);
    } else {
      this.#noteUseless(content, outcome.problem);
    }
    this.#tellOfEnd();
  }

  #noteUseless(content: string, problem: string): void {
    const nowMs = this.#nowMs();
    if (this.#useless?.content !== content) {
      this.#useless = { content, sinceMs: nowMs, isTold: false };
    }
    if (this.#useless.isTold) return;
    const leftMs = this.#useless.sinceMs + TELL_AFTER_MS - nowMs;
    if (leftMs > 0) return this.#reads.wakeIn(leftMs);
    this.#useless.isTold = true;
    this.#tellUseless(problem);
  }

  #nowMs(): number {
    return steadyClock(this.#options.clock).nowMs();
  }

  #take(content: string, tls: ServerTls): void {
    this.#useless = undefined;
    if (content === this.#content) return;
    this.#content = content;
    this.#current = tls;
    this.#toldOfEnd = "no";
    this.#options.logger.info("Reloaded certificate", {
      not_after: tls.notAfter.toISOString(),
    });
  }

  #tellUseless(error: string): void {
    this.#options.logger.error(
      "Cannot use the new certificate files; the certificate before them stays",
      { error },
    );
  }

  /** Warns that the certificate expires soon or has expired, once for each. */
  #tellOfEnd(): void {
    const { clock, logger } = this.#options;
    const { notBefore, notAfter } = this.#current;
    const lifeMs = notAfter.getTime() - notBefore.getTime();
    const leftMs = notAfter.getTime() - clock.nowMs();
    const soonMs = Math.min(SOON_MS, SOON_SHARE * lifeMs);
    const state = leftMs <= 0 ? "passed" : leftMs <= soonMs ? "soon" : "no";
    if (state === this.#toldOfEnd) return;
    this.#toldOfEnd = state;
    if (state === "no") return;
    logger.warn(
      state === "passed"
        ? "The certificate has expired"
        : "The certificate expires soon",
      { file: this.#options.paths.cert, not_after: notAfter.toISOString() },
    );
  }
}

async function readFiles(paths: CertificatePaths): Promise<Reading> {
  const { texts, problems } = await readTexts(paths);
  const [first] = problems;
  if (first !== undefined) {
    const { problem } = first;
    return {
      content: problem,
      outcome: { kind: "unusable", problem, of: "pair" },
    };
  }
  const { cert = "", key = "", clientCa } = texts;
  const all: ServerTlsTexts = { cert, key, clientCa };
  return {
    content: JSON.stringify(texts),
    outcome: prepareServerTls(all),
  };
}

/** What could be read, and why the rest could not. */
interface Texts {
  readonly texts: Partial<Record<keyof CertificatePaths, string>>;
  readonly problems: readonly {
    readonly of: keyof CertificatePaths;
    readonly problem: string;
  }[];
}

async function readTexts(paths: CertificatePaths): Promise<Texts> {
  const texts: Texts["texts"] = {};
  const problems: Texts["problems"][number][] = [];
  for (const name of ["cert", "key", "clientCa"] as const) {
    const path = paths[name] ?? "";
    if (path === "") continue;
    const read = await readBounded(path, MAX_FILE_BYTES);
    if (read.kind === "read") {
      texts[name] = new TextDecoder().decode(read.bytes);
      continue;
    }
    const state = whyUnread(read, MAX_FILE_BYTES);
    const problem = `Cannot read the file ${quote(path)}: ${state}`;
    problems.push({ of: name, problem });
  }
  return { texts, problems };
}
