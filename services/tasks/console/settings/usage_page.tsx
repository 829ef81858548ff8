/**
 * The page of the tenant: how much of its plan it uses, and its limits.
 *
 * @module
 */

import type { VNode } from "preact";
import { TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  FactList,
  formatCount,
  Live,
  Time,
} from "../../../shared/console/parts.tsx";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
} from "../parts/form_faults.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
} from "../parts/page.ts";
import { fieldsOf } from "../tasks/task_form.tsx";
import { durationWords } from "../tasks/task_parts.tsx";

interface Use {
  readonly limit: number | null;
  readonly used: number;
  readonly is_exact: boolean;
}

interface ShownUsage {
  readonly plan: string;
  readonly period: string;
  readonly use: Readonly<Record<string, Use>>;
  readonly limits: Readonly<Record<string, unknown>>;
}

interface ShownTenant {
  readonly id: string;
  readonly domain: string;
  readonly url: string | null;
  readonly status: string;
  readonly plan: string;
  readonly timezone: string;
  readonly created_at: string;
}

/** Shows the use of the plan. */
export async function usagePage(page: PageCall): Promise<PageAnswer> {
  return await showUsage(page, NO_FAULTS);
}

/** Changes the tenant's time zone. */
export async function changeTenant(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({
    method: "PATCH",
    path: "/v1/account",
    body: { timezone: page.form.get("timezone")?.trim() ?? "" },
  });
  const faults = formFaults(answer, ["timezone"]);
  return faults === undefined
    ? { kind: "redirect", to: `${page.base}/usage?done=saved` }
    : await showUsage(page, faults);
}

async function showUsage(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const [usage, account] = await Promise.all([
    page.ask({ path: "/v1/usage" }),
    page.ask({ path: "/v1/account" }),
  ]);
  const refusal = refusalOf(usage) ?? refusalOf(account);
  if (refusal !== undefined) return refusal;
  const { plan, period, use, limits } = usage.body as ShownUsage;
  const tenant = account.body as ShownTenant;
  return {
    kind: "page",
    title: "Usage",
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <Live id="usage">
          <section aria-labelledby="use">
            <h2 id="use">{`Plan ${plan}, ${period}`}</h2>
            <ul class="meters">
              {Object.entries(use).map(([name, one]) => (
                <li>
                  <Meter name={nameOf(name)} use={one} />
                </li>
              ))}
            </ul>
          </section>
        </Live>
        <div class="grid">
          <section aria-labelledby="limits">
            <h2 id="limits">All limits</h2>
            <FactList
              facts={Object.entries(limits).map(([name, value]) => [
                nameOf(name),
                value === null ? "no limit" : shown(value),
              ])}
            />
          </section>
          <Tenant page={page} tenant={tenant} faults={faults} />
        </div>
      </>
    ),
  };
}

/** The name of a limit as people write it. */
function nameOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

function shown(value: unknown): string {
  return typeof value === "number"
    ? formatCount(value)
    : typeof value === "string"
    ? durationWords(value)
    : JSON.stringify(value);
}

/** A part of the plan from which on it is told that little is left. */
const NEAR_END = 0.8;

function Meter(
  { name, use: { limit, used, is_exact: isExact } }: {
    readonly name: string;
    readonly use: Use;
  },
): VNode {
  const number = `${formatCount(used)}${isExact ? "" : "+"}`;
  if (limit === null) {
    return (
      <>
        <span>{name}</span>
        <span class="dim">{`${number}, no limit`}</span>
      </>
    );
  }
  const part = limit === 0 ? 1 : used / limit;
  const isOver = used >= limit;
  return (
    <>
      <span>{name}</span>
      <span class={isOver ? "bad" : part >= NEAR_END ? "warn" : "dim"}>
        {`${number} of ${formatCount(limit)}`}
        {isOver
          ? ": none is left"
          : part >= NEAR_END
          ? `: ${Math.floor(part * 100)} %`
          : ""}
      </span>
      <progress aria-label={name} value={Math.min(part, 1)} max={1} />
    </>
  );
}

function Tenant(
  { page, tenant, faults }: {
    readonly page: PageCall;
    readonly tenant: ShownTenant;
    readonly faults: FormFaults;
  },
): VNode {
  const { csrf, form, base } = page;
  const values = form.size > 0
    ? form
    : new URLSearchParams({ timezone: tenant.timezone });
  const field = fieldsOf(values, faults.of);
  return (
    <section aria-labelledby="tenant">
      <h2 id="tenant">Tenant</h2>
      <FactList
        facts={[
          ["Domain", tenant.domain],
          ["URL", tenant.url],
          ["Id", <span class="mono">{tenant.id}</span>],
          ["Time zone", tenant.timezone],
          ["Created", <Time at={tenant.created_at} />],
        ]}
      />
      {may(page, "account:write")
        ? (
          <details class="more" open={faults !== NO_FAULTS}>
            <summary>Change the time zone</summary>
            <form method="post" action={`${base}/usage`}>
              <FaultsNote faults={faults} />
              <CsrfField csrf={csrf} />
              <TextField
                {...field("timezone")}
                label="Time zone"
                placeholder="Europe/Berlin"
                hint="Of tasks that have none of their own."
                isRequired
              />
              <button type="submit">Save</button>
            </form>
          </details>
        )
        : null}
    </section>
  );
}
