/**
 * What the service keeps of alerts besides their definitions: which are raised,
 * and which tenants have some.
 *
 * @module
 */

import type { Alert } from "../../domain/records.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import { serviceWrite } from "../record_writes.ts";
import { REGISTRY } from "../repositories.ts";

/** The state of an alert. */
export interface AlertState {
  /** Since when it is raised; absent when it is not. */
  readonly raisedAtMs?: number | undefined;
  /** When it was last raised. */
  readonly toldAtMs?: number | undefined;
  /** The task of its last message. */
  readonly lastTask?: string | undefined;
}

/** The prefix of the ids of the marks of tenants that have alerts. */
export const ALERTS_PREFIX = "alerts:";

type AlertName = Pick<Alert, "tenantId" | "id">;

/** Reads the state of an alert, with the version of its record. */
export async function readAlertState(
  store: Pick<Store, "record">,
  name: AlertName,
): Promise<{ readonly state: AlertState; readonly version: number }> {
  const { tenantId, id } = placeOf(name);
  const record = await store.record("service", tenantId, id);
  // Only this file writes the record.
  const state = JSON.parse(record?.text ?? "{}") as AlertState;
  return { state, version: record?.version ?? 0 };
}

/** The write of an alert's state; undefined to remove it. */
export function alertStateWrite(
  name: AlertName,
  state: AlertState | undefined,
  version: number,
): Write {
  return serviceWrite(placeOf(name), state && JSON.stringify(state), version);
}

/** The write of the mark that a tenant has alerts. */
export async function markAlerts(
  store: Pick<Store, "record">,
  tenantId: string,
): Promise<Write> {
  const place = { tenantId: REGISTRY, id: ALERTS_PREFIX + tenantId };
  const mark = await store.record("service", REGISTRY, place.id);
  return serviceWrite(place, tenantId, mark?.version);
}

function placeOf(
  { tenantId, id }: AlertName,
): Pick<StoredRecord, "tenantId" | "id"> {
  return { tenantId, id: `alert_state:${id}` };
}
