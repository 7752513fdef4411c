import { badOption, shown } from "../../core/index.ts";
import { isRamp } from "../../schedule/index.ts";

/** Refuses the value of an option, unless it is left out. */
export type Check = (kind: string, name: string, given: unknown) => void;

const checkOf =
  (holds: (given: unknown) => boolean, range: string): Check =>
  (kind, name, given) => {
    if (given !== undefined && !holds(given))
      throw badOption(kind, `${name} is ${shown(given)}`, `give ${range}`);
  };
const number =
  (holds: (x: number) => boolean) =>
  (given: unknown): boolean =>
    typeof given === "number" && holds(given);

/** The same check, for what may be a ramp instead. */
export const orRamp =
  (check: Check): Check =>
  (kind, name, given) => {
    if (!isRamp(given)) check(kind, name, given);
  };

export const checkFlag: Check = checkOf((given) => typeof given === "boolean", "true or false");
export const checkShare: Check = checkOf(
  number((x) => x >= 0 && x <= 1),
  "a number from 0 to 1",
);
export const checkAbove: Check = checkOf(
  number((x) => x > 0),
  "a number above 0",
);
export const checkFromZero: Check = checkOf(
  number((x) => x >= 0 && Number.isFinite(x)),
  "a number from 0 on",
);
