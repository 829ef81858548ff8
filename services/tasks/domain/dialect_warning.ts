/**
 * Warns of cron expressions that another program reads otherwise: those of
 * Quartz and Amazon EventBridge have six fields as well, and are good
 * expressions here that mean other days or times.
 *
 * @module
 */

import {
  type JsonSchema,
  said,
  shownObject,
} from "../../shared/schema/schema.ts";
import {
  CRON_DIALECTS,
  type CronDialect,
  type CronExpression,
  parseCron,
} from "./cron_expression.ts";

/** A warning that an expression means something else in another dialect. */
export interface DialectWarning {
  /** The code of the warning. */
  readonly code: "dialect";
  /** The dialect that differs. */
  readonly dialect: CronDialect;
  /** What differs and what to do, for people. */
  readonly detail: string;
}

/** The schema of the warnings about a schedule as a whole, in answers. */
export const DIALECT_WARNINGS: JsonSchema = {
  type: "array",
  description: "Warnings about the schedule: `dialect` means that another " +
    "program reads the cron expression differently",
  items: shownObject({
    code: said("A word for programs", { enum: ["dialect"] }),
    dialect: said("Whose expression it could be as well", {
      enum: CRON_DIALECTS,
    }),
    detail: said("What is odd and what to do, for people"),
  }),
};

const OTHERS = [
  ["quartz", "Quartz, where Sunday is 1"],
  ["eventbridge", "EventBridge, where the first field is the minute"],
] as const;

/**
 * Warns where a cron expression without a dialect could be one of another
 * program and has other times there. With a dialect, and for an interval, there
 * is nothing to warn of.
 */
export function dialectWarnings(
  { cron, dialect }: {
    readonly cron?: string | undefined;
    readonly dialect?: CronDialect | undefined;
  },
): readonly DialectWarning[] {
  // The others demand a question mark, which is seldom written here.
  if (cron === undefined || dialect !== undefined || !cron.includes("?")) {
    return [];
  }
  const here = parseCron(cron);
  if (here.kind === "invalid") return [];
  return OTHERS.flatMap(([other, name]) => {
    const there = parseCron(cron, other);
    if (there.kind === "invalid" || isSame(here.cron, there.cron)) return [];
    return [{
      code: "dialect",
      dialect: other,
      detail: `This expression has other times in ${name}. For those set ` +
        `"dialect": "${other}"; "dialect": "cron" says that it is meant as ` +
        "it is",
    }];
  });
}

function isSame(here: CronExpression, there: CronExpression): boolean {
  if (there.endWallMs !== Infinity) return false;
  const isSameTime = (["hours", "minutes", "seconds"] as const).every((part) =>
    here.times[part].join() === there.times[part].join()
  );
  return isSameTime && here.days.isSame(there.days);
}
