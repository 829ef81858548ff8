import { serviceTest } from "../../../../tests/support/services.ts";
import {
  severalStoresConformance,
  storeConformance,
} from "../testing/store_conformance.ts";
import { openSubject } from "./testing/postgres_subject.ts";

storeConformance(
  "PostgreSQL",
  openSubject,
  (test) => serviceTest(["postgres"], test),
);

severalStoresConformance(
  "PostgreSQL",
  openSubject,
  (test) => serviceTest(["postgres"], test),
);
