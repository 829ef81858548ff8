/**
 * What is wrong with the parameters of a query.
 *
 * @module
 */

/** One thing that is wrong with a query. */
export interface ParameterFault {
  /** The parameter's name; empty for the query as a whole. */
  readonly parameter: string;
  /** The kind of fault, for programs. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly detail: string;
}

/** One thing a parser of several parameters has against them. */
export interface ParameterProblem {
  /** The parameter's name. */
  readonly parameter: string;
  /** The kind of fault. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}
