/**
 * What the thread that serves and the thread that looks after the log say to
 * each other.
 *
 * @module
 */

/** What the thread is asked for. */
export type LogKeeperRequest =
  /** Look at the log and move it when it has that many pages to be moved. */
  | { readonly kind: "keep"; readonly path: string; readonly fromPages: number }
  /** Close the database. */
  | { readonly kind: "close" };

/** What the thread answers. */
export type LogKeeperAnswer =
  /** How long the log is, and how much of it has been moved. */
  | {
    readonly kind: "looked";
    readonly logPages: number;
    readonly movedPages: number;
  }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };
