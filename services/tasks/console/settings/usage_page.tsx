/**
 * The page of the tenant: how much of its plan it uses, and its limits.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  FactList,
  formatCount,
  Live,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  statusOf,
} from "../parts/form.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type Texts,
} from "../parts/page.ts";
import { durationWords } from "../tasks/task_parts.tsx";

interface Use {
  readonly limit: number | null;
  readonly used: number;
  readonly is_exact: boolean;
}

type ShownUsage = Texts<"plan" | "period"> & {
  readonly use: Readonly<Record<string, Use>>;
  readonly limits: Readonly<Record<string, unknown>>;
};

type ShownTenant = Texts<"id" | "domain" | "timezone" | "created_at", "url">;

/** Changes the tenant's time zone. */
export async function changeTenant(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({
    method: "PATCH",
    path: "/v1/account",
    body: { timezone: page.form.get("timezone")?.trim() ?? "" },
  });
  const faults = formFaults(answer, ["timezone"]);
  return faults === undefined
    ? goTo(page.here, "saved")
    : await usagePage(page, faults);
}

/** Shows the use of the plan, and what is wrong with the form that was sent. */
export async function usagePage(
  page: PageCall,
  faults: FormFaults = NO_FAULTS,
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
    status: statusOf(faults),
    content: (
      <>
        <Live id="usage">
          <Section id="use" title={`Plan ${plan}, ${period}`}>
            <ul class="meters">
              {Object.entries(use).map(([name, one]) => (
                <li>
                  <Meter name={nameOf(name)} use={one} />
                </li>
              ))}
            </ul>
          </Section>
        </Live>
        <div class="grid">
          <Section id="limits" title="All limits">
            <FactList
              facts={Object.entries(limits).map(([name, value]) => [
                nameOf(name),
                value === null ? "no limit" : shown(value),
              ])}
            />
          </Section>
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
  const part = limit === null ? 0 : limit === 0 ? 1 : used / limit;
  const isOver = limit !== null && used >= limit;
  const isNear = part >= NEAR_END;
  return (
    <>
      <span>{name}</span>
      <span class={isOver ? "bad" : isNear ? "warn" : "dim"}>
        {limit === null
          ? `${number}, no limit`
          : `${number} of ${formatCount(limit)}`}
        {isOver
          ? ": none is left"
          : isNear
          ? `: ${Math.floor(part * 100)} %`
          : ""}
      </span>
      {limit === null
        ? null
        : <progress aria-label={name} value={Math.min(part, 1)} max={1} />}
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
  const { form } = page;
  const values = form.size > 0
    ? form
    : new URLSearchParams({ timezone: tenant.timezone });
  return (
    <Section id="tenant" title="Tenant">
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
            <FaultForm page={page} faults={faults} buttons={[{ text: "Save" }]}>
              {fieldsOf({ values, faults }).text("timezone", "Time zone", {
                placeholder: "Europe/Berlin",
                hint: "Of tasks that have none of their own.",
                isRequired: true,
              })}
            </FaultForm>
          </details>
        )
        : null}
    </Section>
  );
}
