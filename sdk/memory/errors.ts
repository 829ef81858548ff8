/**
 * Errors of the memory client.
 *
 * @module
 */

/** Options of {@linkcode MemError}. */
export interface MemErrorOptions {
  /** The error that caused this one. */
  readonly cause?: unknown;
  /** HTTP status of the answer; 0 when no answer arrived. */
  readonly status?: number | undefined;
  /** The relayer's error code. */
  readonly serverCode?: string | undefined;
  /** The relayer's reason for refusing a signature. */
  readonly authError?: string | undefined;
  /** Seconds after which the relayer allows another request. */
  readonly retryAfterSeconds?: number | undefined;
}

/** The base class of all errors of the memory client. */
export class MemError extends Error {
  /** Name of the class. */
  override readonly name: string = "MemError";
  /**
   * HTTP status of the answer; 0 when no answer arrived, so that a retry may
   * succeed; undefined when the error is not about an answer.
   */
  readonly status: number | undefined;
  /**
   * The relayer's error code, such as `AUTH_REJECTED`; `UNEXPECTED_ANSWER` when
   * something else answered, such as a proxy.
   */
  readonly serverCode: string | undefined;
  /** Why the relayer refused the signature, where the relayer says so. */
  readonly authError: string | undefined;
  /**
   * Seconds after which the relayer allows another request, where the relayer
   * says so.
   */
  readonly retryAfterSeconds: number | undefined;

  /** Creates an error with the details that are known. */
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
  /** The request that timed out, such as `POST /api/recall`. */
  readonly phase: string;
  /** The timeout in milliseconds. */
  readonly timeoutMs: number;
  /** The error that caused this one. */
  readonly cause?: unknown;
  /**
   * The relayer's error code, when the relayer missed the deadline and not the
   * client.
   */
  readonly serverCode?: string | undefined;
}

/**
 * A request took longer than its timeout. The relayer may still carry it out.
 */
export class MemRequestTimeout extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemRequestTimeout";
  /** Always 504. */
  declare readonly status: 504;
  /** The request that timed out, such as `POST /api/recall`. */
  readonly phase: string;
  /** The timeout in milliseconds. */
  readonly timeoutMs: number;

  /** Creates the error for a deadline that passed. */
  constructor(options: MemRequestTimeoutOptions) {
    super(missedDeadline(options), { ...options, status: 504 });
    this.phase = options.phase;
    this.timeoutMs = options.timeoutMs;
  }
}

/** Options of {@linkcode MemPreflightTimeout}. */
export interface MemPreflightTimeoutOptions {
  /** The request, such as `preflight GET /version`. */
  readonly phase: string;
  /** The timeout in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * A request that is made before the first signed request took longer than its
 * timeout.
 */
export class MemPreflightTimeout extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemPreflightTimeout";
  /** The request, such as `preflight GET /version`. */
  readonly phase: string;
  /** The timeout in milliseconds. */
  readonly timeoutMs: number;

  /** Creates the error for a request that took too long. */
  constructor(options: MemPreflightTimeoutOptions) {
    super(missedDeadline(options), { status: 0 });
    this.phase = options.phase;
    this.timeoutMs = options.timeoutMs;
  }
}

/** Client and relayer are not compatible; one of them must be updated. */
export class MemCompatibilityError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemCompatibilityError";
  /** Always 426, also when the client itself found the incompatibility. */
  declare readonly status: 426;

  /** Creates the error; `message` says what is not compatible. */
  constructor(message: string, options: MemErrorOptions = {}) {
    super(message, { ...options, status: 426 });
  }
}

/** Options of {@linkcode RateLimitError}. */
export interface RateLimitErrorOptions extends MemErrorOptions {
  /** The rate limit that was exceeded. */
  readonly layer?: string | undefined;
}

/** The relayer refuses the request because a rate limit is exceeded. */
export class RateLimitError extends MemError {
  /** Name of the class. */
  override readonly name: string = "RateLimitError";
  /** Always 429. */
  declare readonly status: 429;
  /**
   * The rate limit that was exceeded, such as `delegate_key`, where the relayer
   * says so.
   */
  readonly layer: string | undefined;

  /** Creates the error for a rate limit that was exceeded. */
  constructor(message: string, options: RateLimitErrorOptions = {}) {
    super(message, { ...options, status: 429 });
    this.layer = options.layer;
  }
}

/** The client was destroyed; a new one is needed. */
export class MemDestroyedError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemDestroyedError";

  /** Creates the error for a call on a destroyed client. */
  constructor() {
    super("Cannot use this client: it was destroyed, create a new one");
  }
}

/** What is known of a job when waiting for it ends without a memory. */
export interface JobFacts {
  /** By what `getRememberStatus` asks for the job. */
  readonly jobId: string;
  /**
   * The job's status when it was last read; undefined when it was never read.
   */
  readonly lastStatus?: string | undefined;
  /** The id of the job's blob when it was last read, where the job had one. */
  readonly lastBlobId?: string | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** Options of {@linkcode RememberJobError}. */
export interface RememberJobErrorOptions extends JobFacts {
  /** 404, 500, 502 or 504. */
  readonly status: number;
}

/**
 * A job ended without a memory. Status 502 means that the job is done and has
 * no blob; the other outcomes have classes of their own.
 */
export class RememberJobError extends MemError {
  /** Name of the class. */
  override readonly name: string = "RememberJobError";
  /** 404, 500, 502 or 504. */
  declare readonly status: number;
  /** By what `getRememberStatus` asks for the job. */
  readonly jobId: string;
  /**
   * The job's status when it was last read; undefined when it was never read.
   */
  readonly lastStatus: string | undefined;
  /** The id of the job's blob when it was last read, where the job had one. */
  readonly lastBlobId: string | undefined;

  /** Creates the error for a job and its outcome. */
  constructor(message: string, options: RememberJobErrorOptions) {
    super(message, options);
    this.jobId = options.jobId;
    this.lastStatus = options.lastStatus;
    this.lastBlobId = options.lastBlobId;
  }
}

/** The owner has no job with this id. */
export class RememberJobNotFound extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobNotFound";

  /** Creates the error for a job that does not exist. Its status is 404. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 404 });
  }
}

/** The job failed for good. */
export class RememberJobFailed extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobFailed";

  /** Creates the error for a job that failed. Its status is 500. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 500 });
  }
}

/**
 * The job was not done within the timeout. The job goes on, and can be waited
 * for again.
 */
export class RememberJobTimeout extends RememberJobError {
  /** Name of the class. */
  override readonly name: string = "RememberJobTimeout";

  /** Creates the error for a job that takes longer. Its status is 504. */
  constructor(message: string, facts: JobFacts) {
    super(message, { ...facts, status: 504 });
  }
}

/**
 * Tells whether an error means that a request, a recall or a preflight request
 * missed its deadline.
 */
export function isTimeoutError(
  error: unknown,
): error is MemRequestTimeout | MemPreflightTimeout {
  return error instanceof MemRequestTimeout ||
    error instanceof MemPreflightTimeout;
}

/** Code of an answer that is not the relayer's. */
export const UNEXPECTED_ANSWER = "UNEXPECTED_ANSWER";

/**
 * Tells whether the same request may succeed a little later: no answer arrived,
 * something else than the relayer answered, the relayer is too busy (429), or
 * the relayer has an error of its own (500 and above).
 */
export function isPassingTrouble(error: unknown): error is MemError {
  if (!(error instanceof MemError)) return false;
  const { status, serverCode } = error;
  return status !== undefined &&
    (status === 0 || status === 429 || status >= 500 ||
      serverCode === UNEXPECTED_ANSWER);
}

function missedDeadline(options: MemPreflightTimeoutOptions): string {
  return `Cannot complete ${options.phase}: no answer within ` +
    `${options.timeoutMs} ms`;
}
