/**
 * The records of users that are mirrored to the identity provider ("the
 * mirror"). A tenant's record holds the user's subject at the mirror, and a
 * mark in the registry names the change that the mirror still has to make. The
 * mark is written in the transaction of the change and removed when the mirror
 * has made it; so no change is lost, even when the tenant is erased.
 *
 * @module
 */

import type { MirroredUserChange } from "../../access/identity_provider.ts";
import type { User } from "../../domain/records.ts";
import { serviceWrite } from "../record_writes.ts";
import { REGISTRY } from "../repositories.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";

/** The prefix of the ids of marks. */
export const MARK_PREFIX = "mirror:";

/**
 * The prefix of the ids of the records that hold the subject of a user at the
 * mirror.
 */
export const SUBJECT_PREFIX = "mirror:";

/** The user that a mark is about. */
export interface MirroredPlace {
  /** The tenant. */
  readonly tenantId: string;
  /** The user. */
  readonly userId: string;
}

/** A field of a user that is mirrored. */
type MirroredField = keyof MirroredUserChange;

/** The change that the mirror still has to make. */
type MirrorWork =
  | {
    readonly kind: "change";
    /** The fields that changed since the mirror was last updated. */
    readonly fields: readonly MirroredField[];
  }
  | {
    readonly kind: "remove";
    /** The subject of the user to remove at the mirror. */
    readonly subject: string;
  };

/** A mark as it was read. */
export interface MirrorMark extends MirroredPlace {
  /** Goes up by one with each change. */
  readonly version: number;
  /** The change to make. */
  readonly work: MirrorWork;
}

/** Reads the mark of a user; undefined when the mirror has nothing to do. */
export async function readMark(
  store: Pick<Store, "record">,
  place: MirroredPlace,
): Promise<MirrorMark | undefined> {
  const record = await store.record("service", REGISTRY, markId(place));
  return record && markOf(record);
}

/** Parses a mark from its record in the registry. */
export function markOf({ id, version, text }: StoredRecord): MirrorMark {
  const [tenantId = "", userId = ""] = id.slice(MARK_PREFIX.length).split(":");
  // Only this file writes such records, so the text is of its type.
  return { tenantId, userId, version, work: JSON.parse(text) as MirrorWork };
}

/** The id of the mark of a user; ids of tenants and users hold no colon. */
export function markId({ tenantId, userId }: MirroredPlace): string {
  return `${MARK_PREFIX}${tenantId}:${userId}`;
}

/** The write that replaces the mark that was read, or removes it. */
export function markWrite(
  place: MirroredPlace,
  { previous, work }: {
    readonly previous: MirrorMark | undefined;
    readonly work: MirrorWork | undefined;
  },
): Write {
  return serviceWrite(
    { tenantId: REGISTRY, id: markId(place) },
    work && JSON.stringify(work),
    previous?.version,
  );
}

/** Reads the record whose text is a user's subject at the mirror. */
export function readSubject(
  store: Pick<Store, "record">,
  { tenantId, userId }: MirroredPlace,
): Promise<StoredRecord | undefined> {
  return store.record("service", tenantId, SUBJECT_PREFIX + userId);
}

/** The write that stores a user's subject at the mirror. */
export function subjectWrite(
  { tenantId, userId }: MirroredPlace,
  subject: string,
): Write {
  return serviceWrite({ tenantId, id: SUBJECT_PREFIX + userId }, subject);
}

/** The write that removes a user's subject at the mirror. */
export function subjectRemoval(known: StoredRecord): Write {
  return serviceWrite(known, undefined, known.version);
}

/** The values of these fields of a user for the mirror. */
export function mirroredState(
  { email, name, status }: User,
  fields: readonly MirroredField[],
): MirroredUserChange {
  return {
    email: fields.includes("email") ? email : undefined,
    name: fields.includes("name") ? name : undefined,
    isBlocked: fields.includes("isBlocked") ? status === "disabled" : undefined,
  };
}

/** The mirrored fields in which two versions of a user differ. */
export function mirroredChanges(
  previous: User,
  next: User,
): readonly MirroredField[] {
  const before = mirroredState(previous, MIRRORED_FIELDS);
  const after = mirroredState(next, MIRRORED_FIELDS);
  return MIRRORED_FIELDS.filter((field) => before[field] !== after[field]);
}

/** All fields of a user that are mirrored. */
export const MIRRORED_FIELDS: readonly MirroredField[] = [
  "email",
  "name",
  "isBlocked",
];
