/**
 * The pages of webhooks: the list with the form that makes one, and the page of
 * each with its deliveries.
 *
 * @module
 */

import type { VNode } from "preact";
import { TextField } from "../../shared/console/form.tsx";
import { CsrfField } from "../../shared/console/layout.tsx";
import {
  Badge,
  Code,
  Empty,
  FactList,
  formatLength,
  Live,
  Note,
  Time,
} from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { askDeliveries, Deliveries } from "./delivery_pages.tsx";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  listOf,
  NO_FAULTS,
  textOf,
} from "./form_faults.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "./page.ts";
import { shownOncePage } from "./shown_once.tsx";
import { fieldsOf } from "./task_form.tsx";

const FIELDS = ["url", "name", "types", "worker", "job", "group"];

interface ShownWebhook {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly types: readonly string[];
  readonly worker: string | null;
  readonly job: string | null;
  readonly group: string | null;
  readonly enabled: boolean;
  readonly disabled_reason: "gone" | "failing" | null;
  readonly disabled_at: string | null;
  readonly failing_since: string | null;
  readonly open_deliveries: number;
  readonly missed_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

interface TestResult {
  readonly id: string;
  readonly signatures: number;
  readonly outcome: "delivered" | "failed";
  readonly duration: number | null;
  readonly answer: {
    readonly status: number;
    readonly body: string;
    readonly truncated: boolean;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Shows all webhooks. */
export async function webhookListPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({ types: "task.failed" });
  return await showList(page, { values, faults: NO_FAULTS });
}

/** Makes a webhook, and shows its secret. */
export async function makeWebhook(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const given = Object.entries(bodyOf(form)).filter(([, value]) =>
    value !== null
  );
  const answer = await page.ask({
    method: "POST",
    path: "/v1/webhooks",
    body: Object.fromEntries(given),
  });
  const faults = formFaults(answer, FIELDS);
  if (faults !== undefined) {
    return await showList(page, { values: form, faults });
  }
  const { id, signing_secret: secret } = answer.body as {
    readonly id: string;
    readonly signing_secret: string;
  };
  return shownSecret(page, { id, secret, title: "New webhook" });
}

function shownSecret(
  { base }: PageCall,
  { id, secret, title }: {
    readonly id: string;
    readonly secret: string;
    readonly title: string;
  },
): PageAnswer {
  return shownOncePage({
    title,
    about: "The receiver checks calls with this secret.",
    secrets: [["Signing secret", secret]],
    back: `${base}/webhooks/${id}`,
    backText: "To the webhook",
  });
}

function bodyOf(form: URLSearchParams): Readonly<Record<string, unknown>> {
  return {
    url: form.get("url")?.trim() ?? "",
    name: form.get("name")?.trim() ?? "",
    types: listOf(form.get("types") ?? ""),
    worker: textOf(form, "worker"),
    job: textOf(form, "job"),
    group: textOf(form, "group"),
  };
}

async function showList(
  page: PageCall,
  { values, faults }: {
    readonly values: URLSearchParams;
    readonly faults: FormFaults;
  },
): Promise<PageAnswer> {
  const { base, csrf } = page;
  const answer = await page.ask({ path: "/v1/webhooks" });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data } = answer.body as ShownList<ShownWebhook>;
  const path = `${base}/webhooks`;
  return {
    kind: "page",
    title: "Webhooks",
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <section>
          {data.length === 0
            ? (
              <Empty>
                <p>No webhook is told of events yet.</p>
              </Empty>
            )
            : (
              <Live id="webhooks">
                <Table
                  label="Webhooks"
                  rows={data}
                  columns={[
                    {
                      name: "Webhook",
                      cell: ({ id, name, url }) => (
                        <a href={`${path}/${id}`}>{name === "" ? url : name}</a>
                      ),
                    },
                    {
                      name: "Status",
                      cell: (webhook) => <WebhookBadge webhook={webhook} />,
                    },
                    { name: "Events", cell: ({ types }) => types.join(", ") },
                    {
                      name: "Under way",
                      isNumber: true,
                      cell: ({ open_deliveries: open }) => open,
                    },
                  ]}
                />
              </Live>
            )}
        </section>
        {may(page, "webhooks:write")
          ? (
            <section aria-labelledby="new" class="narrow">
              <h2 id="new">Make a webhook</h2>
              <form method="post" action={path}>
                <FaultsNote faults={faults} />
                <CsrfField csrf={csrf} />
                <Fields values={values} faults={faults} />
                <button type="submit" class="primary">Make</button>
              </form>
            </section>
          )
          : null}
      </>
    ),
  };
}

function Fields(
  { values, faults: { of } }: {
    readonly values: URLSearchParams;
    readonly faults: FormFaults;
  },
): VNode {
  const field = fieldsOf(values, of);
  return (
    <>
      <TextField
        {...field("url")}
        label="URL"
        placeholder="https://example.com/hooks/tasks"
        isRequired
      />
      <TextField {...field("name")} label="Name" />
      <TextField
        {...field("types")}
        label="Events"
        hint="Types with commas; task.* stands for all that begin so."
        isRequired
      />
      <div class="grid">
        <TextField {...field("worker")} label="Only of the worker" />
        <TextField {...field("job")} label="Only of the job" />
        <TextField {...field("group")} label="Only of the group" />
      </div>
    </>
  );
}

function WebhookBadge(
  { webhook: { enabled, disabled_reason: reason, failing_since: failing } }: {
    readonly webhook: ShownWebhook;
  },
): VNode {
  if (!enabled) {
    return (
      <Badge tone={reason === null ? "dim" : "bad"} isHollow>
        {reason === null ? "disabled" : `disabled: ${reason}`}
      </Badge>
    );
  }
  return failing === null
    ? <Badge tone="good">enabled</Badge>
    : <Badge tone="warn">failing</Badge>;
}

/** Shows a webhook. */
export async function webhookPage(page: PageCall): Promise<PageAnswer> {
  return await showWebhook(page, { faults: NO_FAULTS });
}

/** Does what a form of a webhook's page says. */
export async function changeWebhook(page: PageCall): Promise<PageAnswer> {
  const { base, form, params } = page;
  const path = webhookPath(page);
  const [here = ""] = page.path.split("?", 1);
  switch (form.get("action")) {
    case "remove": {
      const answer = await page.ask({ method: "DELETE", path });
      return refusalOf(answer) ??
        { kind: "redirect", to: `${base}/webhooks?done=removed` };
    }
    case "test": {
      const answer = await page.ask({ method: "POST", path: `${path}/test` });
      return refusalOf(answer) ?? await showWebhook(page, {
        faults: NO_FAULTS,
        result: answer.body as TestResult,
      });
    }
    case "rotate": {
      const answer = await page.ask({ method: "POST", path: `${path}/rotate` });
      const { signing_secret: secret } = (answer.body ?? {}) as {
        readonly signing_secret: string;
      };
      return refusalOf(answer) ?? shownSecret(page, {
        id: params.id ?? "",
        secret,
        title: "New signing secret",
      });
    }
    case "enable":
    case "disable": {
      const enabled = form.get("action") === "enable";
      const body = { enabled };
      const answer = await page.ask({ method: "PATCH", path, body });
      return refusalOf(answer) ??
        { kind: "redirect", to: `${here}?done=saved` };
    }
    default: {
      const body = bodyOf(form);
      const answer = await page.ask({ method: "PUT", path, body });
      const faults = formFaults(answer, FIELDS);
      return faults === undefined
        ? { kind: "redirect", to: `${here}?done=saved` }
        : await showWebhook(page, { faults });
    }
  }
}

function webhookPath({ params: { id = "" } }: PageCall): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

async function showWebhook(
  page: PageCall,
  { faults, result }: {
    readonly faults: FormFaults;
    /** What came of a test. */
    readonly result?: TestResult;
  },
): Promise<PageAnswer> {
  const answer = await page.ask({ path: webhookPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const webhook = answer.body as ShownWebhook;
  const deliveries = await askDeliveries(page, webhook.id);
  const isWriter = may(page, "webhooks:write");
  return {
    kind: "page",
    title: `Webhook ${webhook.name === "" ? webhook.url : webhook.name}`,
    heading: <span>{webhook.name === "" ? webhook.url : webhook.name}</span>,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <Live id="webhook">
          <Lead webhook={webhook} />
        </Live>
        {isWriter ? <Actions page={page} webhook={webhook} /> : null}
        {result === undefined ? null : <Result result={result} />}
        <div class="grid">
          <section aria-labelledby="facts">
            <h2 id="facts">Facts</h2>
            <FactList
              facts={[
                ["URL", <code>{webhook.url}</code>],
                ["Events", webhook.types.join(", ")],
                ["Worker", webhook.worker],
                ["Job", webhook.job],
                ["Group", webhook.group],
                ["Id", <span class="mono">{webhook.id}</span>],
                ["Under way", webhook.open_deliveries],
                ["Created", <Time at={webhook.created_at} />],
                ["Changed", <Time at={webhook.updated_at} />],
              ]}
            />
          </section>
          {isWriter
            ? <ChangeForm page={page} webhook={webhook} faults={faults} />
            : null}
        </div>
        <Deliveries page={page} list={deliveries} />
      </>
    ),
  };
}

function Lead({ webhook }: { readonly webhook: ShownWebhook }): VNode {
  const { enabled, failing_since: failing, missed_at: missed } = webhook;
  const isWell = enabled && failing === null;
  return (
    <Note tone={isWell ? "good" : enabled ? "warn" : "bad"}>
      <p class="lead">
        <WebhookBadge webhook={webhook} /> {!enabled
          ? "It is sent nothing. Once it is enabled, it is told what happens from then on."
          : failing === null
          ? "It takes what it is sent."
          : (
            <>
              Each call has failed since <Time at={failing} />.
            </>
          )}
      </p>
      {missed === null ? null : (
        <p>
          Events were lost to it at <Time at={missed} />: too many waited.
        </p>
      )}
    </Note>
  );
}

function Actions(
  { page, webhook }: {
    readonly page: PageCall;
    readonly webhook: ShownWebhook;
  },
): VNode {
  return (
    <section aria-label="Actions">
      <form method="post" action={page.path.split("?", 1)[0]} class="row">
        <CsrfField csrf={page.csrf} />
        <button type="submit" name="action" value="test">Send a test</button>
        {webhook.enabled
          ? <button type="submit" name="action" value="disable">Disable</button>
          : <button type="submit" name="action" value="enable">Enable</button>}
        <button
          type="submit"
          name="action"
          value="rotate"
          data-confirm="Replace the signing secret? The old one signs beside the new one for a while."
        >
          Replace the secret
        </button>
        <button
          type="submit"
          name="action"
          value="remove"
          class="danger"
          data-confirm="Remove this webhook? Its deliveries under way end."
        >
          Remove
        </button>
      </form>
    </section>
  );
}

function Result(
  { result: { outcome, duration, answer, error, signatures } }: {
    readonly result: TestResult;
  },
): VNode {
  const tone = outcome === "delivered" ? "good" : "bad";
  return (
    <section aria-labelledby="test">
      <h2 id="test">Test</h2>
      <Note tone={tone}>
        <p class="lead" role="status">
          <Badge tone={tone}>{outcome}</Badge>
          {duration === null ? null : ` after ${formatLength(duration)}`}
          {answer === null ? "" : `, HTTP status ${answer.status}`}
          {`, ${signatures} signatures`}
        </p>
        {error === null ? null : <p>{`${error.code}: ${error.message}`}</p>}
      </Note>
      {answer === null || answer.body === ""
        ? null
        : <Code id="test-body" name="Answer" text={answer.body} wraps />}
    </section>
  );
}

function ChangeForm(
  { page, webhook, faults }: {
    readonly page: PageCall;
    readonly webhook: ShownWebhook;
    readonly faults: FormFaults;
  },
): VNode {
  const { csrf, form, path } = page;
  const values = faults !== NO_FAULTS ? form : new URLSearchParams({
    url: webhook.url,
    name: webhook.name,
    types: webhook.types.join(", "),
    worker: webhook.worker ?? "",
    job: webhook.job ?? "",
    group: webhook.group ?? "",
  });
  return (
    <section aria-labelledby="change">
      <h2 id="change">Change</h2>
      <form method="post" action={path.split("?", 1)[0]}>
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <Fields values={values} faults={faults} />
        <button type="submit" class="primary">Save</button>
      </form>
    </section>
  );
}
