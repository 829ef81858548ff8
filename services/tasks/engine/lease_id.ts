/**
 * The ids of leases, which name their task.
 *
 * @module
 */

/**
 * Returns the id of the task whose lease it is; undefined when it is no id of a
 * lease.
 */
export function taskOfLease(leaseId: string): string | undefined {
  const match = /^lse_([0-9a-z]{26})_[1-9]\d{0,15}$/.exec(leaseId);
  return match === null ? undefined : `tsk_${match[1]}`;
}
