/**
 * What the service keeps of a webhook besides its definition: how far it has
 * been told, and since when it fails. Both are records of the service, so that
 * they change without the definition and its entity tag.
 *
 * @module
 */

import type { Webhook } from "../../domain/records.ts";
import { liveCount } from "../../domain/task.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import type { EngineParts } from "../parts.ts";
import { serviceWrite } from "../record_writes.ts";
import { internalTenant } from "../workers.ts";

/** What names a webhook. */
export type WebhookName = Pick<Webhook, "tenantId" | "id">;

/** How far a webhook has been told. */
export interface WebhookPlace {
  /** The cursor of the last event that was looked at for it. */
  readonly cursor: string;
  /** When events were last gone before it was told them. */
  readonly missedAtMs?: number | undefined;
}

/** How a webhook has answered lately. */
export interface WebhookHealth {
  /** Since when every call has failed. */
  readonly failingSinceMs: number;
}

/** What the service knows of a webhook. */
export interface WebhookState {
  /** How far it has been told; absent while the webhook is being made. */
  readonly place: WebhookPlace | undefined;
  /** How it fails; absent when it does not. */
  readonly health: WebhookHealth | undefined;
  /** How many deliveries are under way. */
  readonly open: number;
}

/** A value with the version of its record, 0 without one. */
interface Versioned<Value> {
  readonly value: Value | undefined;
  readonly version: number;
}

/** Reads how far a webhook has been told. */
export function readPlace(
  store: Pick<Store, "record">,
  name: WebhookName,
): Promise<Versioned<WebhookPlace>> {
  return read(store, placeOf(name, "place"));
}

/** The write of how far a webhook has been told. */
export function placeWrite(
  name: WebhookName,
  place: WebhookPlace,
  expectedVersion: number,
): Write {
  const at = placeOf(name, "place");
  return serviceWrite(at, JSON.stringify(place), expectedVersion);
}

/** Reads since when a webhook fails. */
export function readHealth(
  store: Pick<Store, "record">,
  name: WebhookName,
): Promise<Versioned<WebhookHealth>> {
  return read(store, placeOf(name, "health"));
}

/** The write of since when a webhook fails; undefined when it does not. */
export function healthWrite(
  name: WebhookName,
  health: WebhookHealth | undefined,
  expectedVersion: number,
): Write {
  const at = placeOf(name, "health");
  return serviceWrite(at, health && JSON.stringify(health), expectedVersion);
}

/** The writes that forget what is known of a webhook, as it is removed. */
export async function forgetState(
  store: Pick<Store, "record">,
  name: WebhookName,
): Promise<readonly Write[]> {
  const places = [placeOf(name, "place"), placeOf(name, "health")];
  const found = await Promise.all(
    places.map(({ tenantId, id }) => store.record("service", tenantId, id)),
  );
  return found.flatMap((record) =>
    record === undefined
      ? []
      : [serviceWrite(record, undefined, record.version)]
  );
}

/** Reads what is known of a webhook. */
export async function loadState(
  { store }: Pick<EngineParts, "store">,
  name: WebhookName,
): Promise<WebhookState> {
  const [place, health, open] = await Promise.all([
    readPlace(store, name),
    readHealth(store, name),
    countOpen(store, name),
  ]);
  return { place: place.value, health: health.value, open };
}

/** How many deliveries of a webhook are under way. */
export async function countOpen(
  store: Pick<Store, "counts">,
  { tenantId, id }: WebhookName,
): Promise<number> {
  const owner = internalTenant(tenantId);
  return liveCount(await store.counts({ tenantId: owner, workerId: id }));
}

async function read<Value>(
  store: Pick<Store, "record">,
  { tenantId, id }: Pick<StoredRecord, "tenantId" | "id">,
): Promise<Versioned<Value>> {
  const record = await store.record("service", tenantId, id);
  if (record === undefined) return { value: undefined, version: 0 };
  // Only this file writes these records.
  return { value: JSON.parse(record.text) as Value, version: record.version };
}

function placeOf(
  { tenantId, id }: WebhookName,
  what: "place" | "health",
): Pick<StoredRecord, "tenantId" | "id"> {
  return { tenantId, id: `webhook_${what}:${id}` };
}
