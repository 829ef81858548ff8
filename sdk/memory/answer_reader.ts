/**
 * Reads members of the relayer's answers, and checks the type of each. Every
 * function takes a parsed object and the name of one of its members.
 *
 * @module
 */

import { MemError } from "./errors.ts";

/**
 * Reads a text.
 *
 * @throws {MemError} When the member is missing or not a text.
 */
export function readString(json: unknown, member: string): string {
  const value = getMember(json, member);
  if (typeof value === "string") return value;
  throw fault(member, "not text");
}

/**
 * Reads a text with at least one character.
 *
 * @throws {MemError} When the member is missing, empty or not a text.
 */
export function readNonEmptyString(json: unknown, member: string): string {
  const value = readString(json, member);
  if (value !== "") return value;
  throw fault(member, "empty");
}

/**
 * Reads a number.
 *
 * @throws {MemError} When the member is missing or not a finite number.
 */
export function readNumber(json: unknown, member: string): number {
  const value = getMember(json, member);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw fault(member, "not a number");
}

/**
 * Reads a whole number, 0 or more.
 *
 * @throws {MemError} When the member is missing or something else.
 */
export function readCount(json: unknown, member: string): number {
  const value = readNumber(json, member);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw fault(member, "not a count");
}

/**
 * Reads a boolean.
 *
 * @throws {MemError} When the member is missing or something else.
 */
export function readBoolean(json: unknown, member: string): boolean {
  const value = getMember(json, member);
  if (typeof value === "boolean") return value;
  throw fault(member, "neither true nor false");
}

/**
 * Reads a list whose elements are not checked.
 *
 * @throws {MemError} When the member is missing or not a list.
 */
export function readArray(json: unknown, member: string): readonly unknown[] {
  const value = getMember(json, member);
  if (Array.isArray(value)) return value;
  throw fault(member, "not a list");
}

/** Reads a text; undefined when the member is missing or null. */
export function readOptionalString(
  json: unknown,
  member: string,
): string | undefined {
  return isAbsent(json, member) ? undefined : readString(json, member);
}

/** Reads a number; undefined when the member is missing or null. */
export function readOptionalNumber(
  json: unknown,
  member: string,
): number | undefined {
  return isAbsent(json, member) ? undefined : readNumber(json, member);
}

/** Reads a boolean; undefined when the member is missing or null. */
export function readOptionalBoolean(
  json: unknown,
  member: string,
): boolean | undefined {
  return isAbsent(json, member) ? undefined : readBoolean(json, member);
}

/**
 * Reads a list whose elements are not checked; undefined when the member is
 * missing or null.
 */
export function readOptionalArray(
  json: unknown,
  member: string,
): readonly unknown[] | undefined {
  return isAbsent(json, member) ? undefined : readArray(json, member);
}

/**
 * Reads a list of texts.
 *
 * @throws {MemError} When the member is missing or holds something else.
 */
export function readStrings(json: unknown, member: string): readonly string[] {
  return readArray(json, member).map((value) => {
    if (typeof value === "string") return value;
    throw fault(member, "not a list of texts");
  });
}

/**
 * Reads a list of finite numbers.
 *
 * @throws {MemError} When the member is missing or holds something else.
 */
export function readNumbers(json: unknown, member: string): readonly number[] {
  return readArray(json, member).map((value) => {
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw fault(member, "not a list of numbers");
  });
}

/** Whether a value is an object with members, not a list and not null. */
export function isObject(
  value: unknown,
): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object type whose optional members are absent rather than undefined. */
type Given<T> =
  & { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] }
  & {
    [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<
      T[Name],
      undefined
    >;
  };

/**
 * Returns a copy without the members that are undefined, so that what was not
 * given is absent.
 */
export function omitUndefined<T extends object>(members: T): Given<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Given<T>;
}

function isAbsent(json: unknown, member: string): boolean {
  return (getMember(json, member) ?? undefined) === undefined;
}

/** Members that every object inherits, such as `toString`, count as missing. */
function getMember(json: unknown, member: string): unknown {
  if (!isObject(json)) {
    throw new MemError(
      `Cannot read the relayer's answer: there is no object that holds ` +
        `"${member}"`,
    );
  }
  return Object.hasOwn(json, member) ? json[member] : undefined;
}

function fault(member: string, state: string): MemError {
  return new MemError(
    `Cannot read the relayer's answer: "${member}" is missing or ${state}`,
  );
}
