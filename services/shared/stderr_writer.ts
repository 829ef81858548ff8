/**
 * Writes lines to standard error, where supervisors collect logs.
 *
 * @module
 */

/** Options of {@linkcode stderrWriter}. */
interface StderrWriterOptions {
  /**
   * Where the bytes go.
   *
   * @default {Deno.stderr}
   */
  readonly sink?: Pick<typeof Deno.stderr, "writeSync">;
  /**
   * Milliseconds that one line may wait for a reader that does not read.
   *
   * @default {50}
   */
  readonly maxWaitMs?: number;
  /** Blocks the thread for some milliseconds; a real pause when left out. */
  readonly pause?: (pauseMs: number) => void;
}

const PAUSE_MS = 5;

/**
 * Makes a function that writes one line a call, at once, so that the last
 * words of a dying process are not lost. It never throws: a line that cannot
 * be written (the reader is gone, or stands still for longer than `maxWaitMs`)
 * is dropped, counted, and the loss reported before the next line that gets
 * through. After one loss no line waits until the reader reads again.
 */
export function stderrWriter(
  options: StderrWriterOptions = {},
): (line: string) => void {
  const writer = new LineWriter(options);
  return (line) => writer.write(line);
}

class LineWriter {
  readonly #sink: Pick<typeof Deno.stderr, "writeSync">;
  readonly #maxWaitMs: number;
  readonly #pause: (pauseMs: number) => void;
  readonly #encoder = new TextEncoder();
  #lostLines = 0;
  #midLine = false;

  constructor(options: StderrWriterOptions) {
    this.#sink = options.sink ?? Deno.stderr;
    this.#maxWaitMs = options.maxWaitMs ?? 50;
    this.#pause = options.pause ?? pauseThread;
  }

  write(line: string): void {
    if (this.#midLine && !this.#writeAll("\n", 0)) return this.#lose();
    this.#midLine = false;
    if (this.#lostLines > 0) {
      const loss = lossLine(this.#lostLines);
      if (!this.#writeAll(`${loss}\n`, 0)) return this.#lose();
      this.#lostLines = 0;
    }
    if (!this.#writeAll(`${line}\n`, this.#maxWaitMs)) this.#lose();
  }

  #lose(): void {
    this.#lostLines++;
  }

  #writeAll(text: string, maxWaitMs: number): boolean {
    const bytes = this.#encoder.encode(text);
    let written = 0;
    let waitedMs = 0;
    while (written < bytes.length) {
      const taken = this.#tryWrite(bytes.subarray(written));
      if (taken === "failed" || (taken === 0 && waitedMs >= maxWaitMs)) {
        this.#midLine ||= written > 0;
        return false;
      }
      if (taken === 0) {
        this.#pause(PAUSE_MS);
        waitedMs += PAUSE_MS;
      }
      written += taken;
    }
    return true;
  }

  #tryWrite(bytes: Uint8Array): number | "failed" {
    try {
      return this.#sink.writeSync(bytes);
    } catch (error) {
      const again = error instanceof Deno.errors.WouldBlock ||
        error instanceof Deno.errors.Interrupted;
      return again ? 0 : "failed";
    }
  }
}

function lossLine(lostLines: number): string {
  return `level=warning msg="log lines were lost" lines=${lostLines}`;
}

/** Blocks the thread: waits for a value that never changes. */
function pauseThread(pauseMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
}
