/**
 * What can go wrong when memories are written and read.
 *
 * @module
 */

/** Options of {@linkcode MemError}. */
export interface MemErrorOptions {
  /** What it came from. */
  readonly cause?: unknown;
  /** Status of the answer; 0 when none arrived. */
  readonly status?: number | undefined;
  /** The relayer's word for what is wrong. */
  readonly serverCode?: string | undefined;
  /** The relayer's reason for refusing a signature. */
  readonly authError?: string | undefined;
  /** Seconds after which the relayer wants to be asked again. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Anything that kept the client from doing what it was asked for. */
export class MemError extends Error {
  /** Name of the class. */
  override readonly name: string = "MemError";
  /**
   * Status of the answer; 0 when none arrived, so that trying again may help;
   * undefined when the trouble is not with an answer.
   */
  readonly status: number | undefined;
  /** The relayer's word for what is wrong, such as `AUTH_REJECTED`. */
  readonly serverCode: string | undefined;
  /** Why the relayer refused the signature, where it tells. */
  readonly authError: string | undefined;
  /** Seconds after which the relayer wants to be asked again, where it tells. */
  readonly retryAfterSeconds: number | undefined;

  /** An error and what is known of it. */
  constructor(message: string, options: MemErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.status = options.status;
    this.serverCode = options.serverCode;
    this.authError = options.authError;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Options of {@linkcode MemRequestTimeout}. */
export interface MemRequestTimeoutOptions {
  /** What was waited for, such as `POST /api/recall`. */
  readonly phase: string;
  /** Milliseconds that it was given. */
  readonly timeoutMs: number;
  /** What it came from. */
  readonly cause?: unknown;
  /** The relayer's word for it, when the relayer gave up and not the client. */
  readonly serverCode?: string | undefined;
}

/** A request took longer than its deadline; what it asked for may be done yet. */
export class MemRequestTimeout extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemRequestTimeout";
  /** 504. */
  declare readonly status: 504;
  /** What was waited for, such as `POST /api/recall`. */
  readonly phase: string;
  /** Milliseconds that it was given. */
  readonly timeoutMs: number;

  /** A deadline that passed. */
  constructor(options: MemRequestTimeoutOptions) {
    super(missedDeadline(options), { ...options, status: 504 });
    this.phase = options.phase;
    this.timeoutMs = options.timeoutMs;
  }
}

/** Options of {@linkcode MemPreflightTimeout}. */
export interface MemPreflightTimeoutOptions {
  /** The round trip, such as `preflight GET /version`. */
  readonly phase: string;
  /** Milliseconds that it was given. */
  readonly timeoutMs: number;
}

/** One of the round trips before the first signed request stalled. */
export class MemPreflightTimeout extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemPreflightTimeout";
  /** The round trip, such as `preflight GET /version`. */
  readonly phase: string;
  /** Milliseconds that it was given. */
  readonly timeoutMs: number;

  /** A round trip that stalled. */
  constructor(options: MemPreflightTimeoutOptions) {
    super(missedDeadline(options), { status: 0 });
    this.phase = options.phase;
    this.timeoutMs = options.timeoutMs;
  }
}

/** Client and relayer do not fit each other; one of them must be updated. */
export class MemCompatibilityError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemCompatibilityError";
  /** 426, as a relayer says it. */
  declare readonly status: 426;

  /** What does not fit. */
  constructor(message: string, options: MemErrorOptions = {}) {
    super(message, { ...options, status: 426 });
  }
}

/** Options of {@linkcode RateLimitError}. */
export interface RateLimitErrorOptions extends MemErrorOptions {
  /** Which limit was met. */
  readonly layer?: string | undefined;
}

/** The relayer takes no more for now. */
export class RateLimitError extends MemError {
  /** Name of the class. */
  override readonly name: string = "RateLimitError";
  /** 429. */
  declare readonly status: 429;
  /** Which limit was met, such as `delegate_key`, where the relayer tells. */
  readonly layer: string | undefined;

  /** A limit that was met. */
  constructor(message: string, options: RateLimitErrorOptions = {}) {
    super(message, { ...options, status: 429 });
    this.layer = options.layer;
  }
}

/** The client was destroyed; a new one is needed. */
export class MemDestroyedError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemDestroyedError";

  /** A call on a client without keys. */
  constructor() {
    super("Cannot use this client: it was destroyed, create a new one");
  }
}

/** What is known of a job when waiting for it ends without its memory. */
export interface JobFacts {
  /** The job. */
  readonly jobId: string;
  /** Its state when it was last read; undefined when it never was. */
  readonly lastStatus?: string | undefined;
  /** Its blob when it was last read, where it had one. */
  readonly lastBlobId?: string | undefined;
  /** What it came from. */
  readonly cause?: unknown;
}

/** Options of {@linkcode RememberJobError}. */
export interface RememberJobErrorOptions extends JobFacts {
  /** 404, 500, 502 or 504. */
  readonly status: number;
}

/**
 * A job did not end with a memory. Status 502 says that it is done and has no
 * blob; the other outcomes have classes of their own.
 */
export class RememberJobError extends MemError {
  /** Name of the class. */
  override readonly name: string = "RememberJobError";
  /** 404, 500, 502 or 504. */
  declare readonly status: number;
  /** The job. */
  readonly jobId: string;
  /** Its state when it was last read; undefined when it never was. */
  readonly lastStatus: string | undefined;
  /** Its blob when it was last read, where it had one. */
  readonly lastBlobId: string | undefined;

  /** An outcome, and the job it is of. */
  constructor(message: string, options: RememberJobErrorOptions) {
    super(message, options);
    this.jobId = options.jobId;
    this.lastStatus = options.lastStatus;
    this.lastBlobId = options.lastBlobId;
  }
}

/** The relayer knows no such job of this owner. */
export class RememberJobNotFound extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobNotFound";

  /** A job that is not there. Its status is 404. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 404 });
  }
}

/** The job failed for good. */
export class RememberJobFailed extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobFailed";

  /** A job that failed. Its status is 500. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 500 });
  }
}

/** The job was not done in time; it goes on, and can be waited for again. */
export class RememberJobTimeout extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobTimeout";

  /** A job that takes longer. Its status is 504. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 504 });
  }
}

/** Whether a request, a recall or a preflight round trip missed its deadline. */
export function isTimeoutError(
  error: unknown,
): error is MemRequestTimeout | MemPreflightTimeout {
  return error instanceof MemRequestTimeout ||
    error instanceof MemPreflightTimeout;
}

/**
 * Whether the same request may succeed a little later: no answer arrived, the
 * relayer is too busy (429), or it has trouble of its own (500 and above).
 */
export function isPassingTrouble(error: unknown): error is MemError {
  if (!(error instanceof MemError)) return false;
  const { status } = error;
  return status !== undefined &&
    (status === 0 || status === 429 || status >= 500);
}

function missedDeadline(options: MemPreflightTimeoutOptions): string {
  return `Cannot complete ${options.phase}: no answer within ` +
    `${options.timeoutMs} ms`;
}
