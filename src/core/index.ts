export * from "./clock.ts";
export * from "./error.ts";
export * from "./metric-name.ts";
export * from "./options.ts";
export * from "./printable.ts";
export * from "./seldom.ts";
export * from "./suggest.ts";
export * from "./tree.ts";
