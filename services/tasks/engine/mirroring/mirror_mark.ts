/**
 * The records of mirrored users: the subject of a user at the mirror, among the
 * records of the tenant, and a mark of the change that the mirror still has to
 * make, in the registry. The mark is written in the transaction of the change
 * and removed when the mirror has made it; so no change is lost, even when the
 * tenant is erased.
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

/** Whom a mark is about. */
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
    /** Who is to be removed there. */
    readonly subject: string;
  };

/** A mark as it was read. */
export interface MirrorMark extends MirroredPlace {
  /** One more with each change. */
  readonly version: number;
  /** The change to make. */
  readonly work: MirrorWork;
}

/** Reads the mark of a user, if there is something to be done. */
export async function readMark(
  store: Pick<Store, "record">,
  place: MirroredPlace,
): Promise<MirrorMark | undefined> {
  const record = await store.record("service", REGISTRY, markId(place));
  return record && markOf(record);
}

/** The mark that a record of the registry is. */
export function markOf({ id, version, text }: StoredRecord): MirrorMark {
  const [tenantId = "", userId = ""] = id.slice(MARK_PREFIX.length).split(":");
  // Only this file writes such records, so the text is of its type.
  return { tenantId, userId, version, work: JSON.parse(text) as MirrorWork };
}

/** The id of the mark of a user; ids of tenants and users hold no colon. */
export function markId({ tenantId, userId }: MirroredPlace): string {
  return `${MARK_PREFIX}${tenantId}:${userId}`;
}

/** The write that puts a mark in the place of what was read, or removes it. */
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

/** Reads who a user is at the mirror; its text is the subject. */
export function readSubject(
  store: Pick<Store, "record">,
  { tenantId, userId }: MirroredPlace,
): Promise<StoredRecord | undefined> {
  return store.record("service", tenantId, SUBJECT_PREFIX + userId);
}

/** The write that keeps who a user is at the mirror. */
export function subjectWrite(
  { tenantId, userId }: MirroredPlace,
  subject: string,
): Write {
  return serviceWrite({ tenantId, id: SUBJECT_PREFIX + userId }, subject);
}

/** The write that forgets who a user is at the mirror. */
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

/** The fields that the mirror has to be sent. */
export function mirroredChanges(
  previous: User,
  next: User,
): readonly MirroredField[] {
  const before = mirroredState(previous, MIRRORED_FIELDS);
  const after = mirroredState(next, MIRRORED_FIELDS);
  return MIRRORED_FIELDS.filter((field) => before[field] !== after[field]);
}

/** All that is mirrored of a user. */
export const MIRRORED_FIELDS: readonly MirroredField[] = [
  "email",
  "name",
  "isBlocked",
];
