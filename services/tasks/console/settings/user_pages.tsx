/**
 * The pages of users: the list with the form that adds one, and the page of
 * each.
 *
 * @module
 */

import type { VNode } from "preact";
import { Buttons } from "../../../shared/console/form.tsx";
import {
  Badge,
  FactList,
  Live,
  Section,
  Time,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { ROLES } from "../../access/scope.ts";
import type { User } from "../../domain/records.ts";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  type FormState,
  NO_FAULTS,
  statusOf,
  valuesOf,
} from "../parts/form.tsx";
import { ListPager, listQuestion } from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";

const FIELDS = ["email", "name", "role", "status", "payloads"];

/** A user as the API shows it. */
type ShownUser =
  & Pick<User, "id" | "email" | "name" | "role" | "status" | "payloads">
  & Texts<"created_at" | "updated_at", "idp_subject" | "last_seen_at">;

/** Shows a page of the list. */
export async function userListPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({ role: "member" });
  return await showList(page, { values, faults: NO_FAULTS });
}

/** Adds a user. */
export async function addUser(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  const answer = await page.ask({
    method: "POST",
    path: "/v1/users",
    body: {
      email: form.get("email")?.trim() ?? "",
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? goTo(here, "created")
    : await showList(page, { values: form, faults });
}

async function showList(
  page: PageCall,
  state: FormState,
): Promise<PageAnswer> {
  const { here, nowMs } = page;
  const question = listQuestion(page, "/v1/users");
  return await page.show<ShownList<ShownUser>>(question, (list) => ({
    kind: "page",
    title: "Users",
    status: statusOf(state.faults),
    content: (
      <>
        <section>
          {list.data.length === 0
            ? (
              <p class="dim">
                There are no users: the tenant is used with keys alone.
              </p>
            )
            : (
              <Live id="users">
                <Table
                  label="Users"
                  rows={list.data}
                  columns={[
                    {
                      name: "Email",
                      cell: ({ id, email }) => (
                        <a href={`${here}/${id}`}>{email}</a>
                      ),
                    },
                    { name: "Name", cell: ({ name }) => name },
                    { name: "Role", cell: ({ role }) => role },
                    {
                      name: "Status",
                      cell: ({ status }) => <UserBadge status={status} />,
                    },
                    {
                      name: "Last seen",
                      at: ({ last_seen_at: at }) => at,
                      nowMs,
                      absent: "never",
                    },
                  ]}
                />
                <ListPager page={page} list={list} />
              </Live>
            )}
        </section>
        {may(page, "users:write")
          ? <NewUser page={page} state={state} />
          : null}
      </>
    ),
  }));
}

const TONES: Readonly<Record<ShownUser["status"], Tone>> = {
  invited: "calm",
  active: "good",
  disabled: "dim",
};

function UserBadge({ status }: Pick<ShownUser, "status">): VNode {
  return (
    <Badge tone={TONES[status]} isHollow={status !== "active"}>{status}</Badge>
  );
}

const ROLE_CHOICES = ROLES.map((role) => [role, role] as const);

function NewUser(
  { page, state }: { readonly page: PageCall; readonly state: FormState },
): VNode {
  const { text, choice } = fieldsOf(state);
  return (
    <Section id="new" title="Add a user" kind="narrow">
      <FaultForm
        page={page}
        faults={state.faults}
        buttons={[{ text: "Add", kind: "primary" }]}
      >
        {text("email", "Email", {
          type: "email",
          placeholder: "ada@example.com",
          hint: "Who signs in at the identity provider with this address " +
            "becomes the user.",
          isRequired: true,
        })}
        <div class="grid">
          {text("name", "Name")}
          {choice("role", "Role", { choices: ROLE_CHOICES })}
        </div>
      </FaultForm>
    </Section>
  );
}

/** Shows a user. */
export async function userPage(page: PageCall): Promise<PageAnswer> {
  return await showUser(page, NO_FAULTS);
}

/** Changes or removes a user. */
export async function changeUser(page: PageCall): Promise<PageAnswer> {
  const { base, form, here } = page;
  const path = pathOf("users", page);
  if (form.get("action") === "remove") {
    const answer = await page.ask({ method: "DELETE", path });
    return refusalOf(answer) ?? goTo(`${base}/users`, "removed");
  }
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: {
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
      payloads: form.get("payloads") === "true",
      // A user who was added and has not signed in stays invited.
      ...(form.get("status") === "" ? {} : { status: form.get("status") }),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? goTo(here, "saved")
    : await showUser(page, faults);
}

async function showUser(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const question = { path: pathOf("users", page) };
  return await page.show<ShownUser>(question, (user) => ({
    kind: "page",
    title: user.email,
    status: statusOf(faults),
    content: (
      <div class="grid">
        <Section id="facts" title="Facts">
          <FactList
            facts={[
              ["Status", <UserBadge status={user.status} />],
              ["Name", user.name],
              ["Role", user.role],
              ["Sees data", user.payloads ? "yes" : "no"],
              ["Id", <span class="mono">{user.id}</span>],
              ["At the provider", user.idp_subject],
              [
                "Last seen",
                user.last_seen_at && <Time at={user.last_seen_at} />,
              ],
              ["Added", <Time at={user.created_at} />],
              ["Changed", <Time at={user.updated_at} />],
            ]}
          />
        </Section>
        {may(page, "users:write")
          ? <UserForm page={page} user={user} faults={faults} />
          : null}
      </div>
    ),
  }));
}

function UserForm(
  { page, user, faults }: {
    readonly page: PageCall;
    readonly user: ShownUser;
    readonly faults: FormFaults;
  },
): VNode {
  const { form } = page;
  const { name, role, status, payloads, email } = user;
  const isInvited = status === "invited";
  const values = form.size > 0 ? form : valuesOf({
    ...{ name, role, payloads },
    status: isInvited ? "" : status,
  });
  const { text, choice, check } = fieldsOf({ values, faults });
  return (
    <Section id="change" title="Change">
      <FaultForm page={page} faults={faults}>
        {text("name", "Name")}
        {choice("role", "Role", { choices: ROLE_CHOICES })}
        {choice("status", "Status", {
          choices: [
            isInvited
              ? ["", "invited: active at the next sign-in"]
              : ["active", "active"],
            ["disabled", "disabled: is let in no more"],
          ],
        })}
        {check("payloads", "Sees the data and results of tasks")}
        <div class="row">
          <Buttons
            buttons={[
              { text: "Save", kind: "primary" },
              {
                value: "remove",
                text: "Remove",
                question: `Remove ${email} and the keys made by this user?`,
              },
            ]}
          />
        </div>
      </FaultForm>
    </Section>
  );
}
