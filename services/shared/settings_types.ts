/**
 * The table of settings as types: what a setting is, what reading gives.
 *
 * @module
 */

/** One setting: a variable of the environment with a type and a meaning. */
export interface Setting<T> {
  /** Name of the variable. */
  readonly name: string;
  /** Other names it is read under. */
  readonly aliases: readonly string[];
  /** Heading it stands under in help and README. */
  readonly group: string;
  /** What it does, in one or two sentences. */
  readonly help: string;
  /** Whether its value must never be shown. */
  readonly secret: boolean;
  /** What is accepted, in words. */
  readonly expected: string;
  /** The default as text; `undefined` when there is none. */
  readonly defaultText: string | undefined;
  /** The value when the variable is not set. */
  readonly fallback: T;
  /** The value of a text; `undefined` when it is not accepted. */
  parse(text: string): T | undefined;
}

/** Settings by the name the program knows them under. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table, each with its type. */
export type SettingsValues<T extends SettingsTable> = {
  readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never;
};

/** Gives the text of a variable, `undefined` when it is not set. */
export type ReadVariable = (name: string) => string | undefined;

/** What reading gives. */
export type SettingsOutcome<T extends SettingsTable> =
  | {
    readonly kind: "ok";
    /** Every value of the table. */
    readonly values: SettingsValues<T>;
    /** Lines to warn with: what is set and has no effect. */
    readonly notices: readonly string[];
  }
  | {
    readonly kind: "bad";
    /** One line for each fault. */
    readonly problems: readonly string[];
  };

/**
 * A variable that a deployment may carry and this program cannot honour. Said
 * aloud, because silence would pass for consent.
 */
export interface UnavailableSetting {
  /** Name of the variable. */
  readonly name: string;
  /**
   * Other names of it.
   *
   * @default {[]}
   */
  readonly aliases?: readonly string[];
  /** What is missing, such as `TLS on the gRPC port is not available yet`. */
  readonly why: string;
  /**
   * `refuse` when to go on would be unsafe or wrong: the program must not
   * start. `warn` when it only does without.
   */
  readonly severity: "refuse" | "warn";
  /**
   * Values that ask for nothing, such as `false`; case is ignored.
   *
   * @default {[]}
   */
  readonly neutralValues?: readonly string[];
  /**
   * Whether its value must never be shown.
   *
   * @default {false}
   */
  readonly secret?: boolean;
}
