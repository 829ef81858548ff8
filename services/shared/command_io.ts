/**
 * Where commands write to.
 *
 * @module
 */

/** The outputs of a command; each call is one or more whole lines. */
export interface CommandIo {
  /** What was asked for. */
  readonly out: (text: string) => void;
  /** What went wrong. */
  readonly err: (text: string) => void;
}
