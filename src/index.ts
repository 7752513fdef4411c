export * from "./core/index.ts";
export * from "./engine/index.ts";
