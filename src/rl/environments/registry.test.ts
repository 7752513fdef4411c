import { describe, expect, it } from "vitest";
import { cartPole } from "./classics/cart-pole.ts";
import {
  builtIn,
  compiledEnvironment,
  environmentNames,
  hasCompiled,
  makeEnvironment,
  registerEnvironment,
} from "./registry.ts";

describe("environments by name", () => {
  it.each(Object.keys(builtIn))("%s is there in both forms, which agree about their spaces", (name) => {
    const [environment, compiled] = [makeEnvironment(name), compiledEnvironment(name)];
    expect(environment.name).toBe(name);
    expect(compiled.name).toBe(name);
    expect(compiled.observationSpace).toEqual(environment.observationSpace);
    expect(compiled.actionSpace).toEqual(environment.actionSpace);
    expect(compiled.agents ?? 1).toBe(environment.agents ?? 1);
    expect(compiled.lessons).toEqual(environment.lessons);
    environment.reset({ seed: 1 });
  });

  it("are made anew each time", () => {
    expect(makeEnvironment("CartPole-v1")).not.toBe(makeEnvironment("CartPole-v1"));
  });

  it("may be one's own, and be given again only where that is meant", () => {
    registerEnvironment("Own", { make: cartPole });
    expect(environmentNames()).toContain("Own");
    expect(hasCompiled("Own")).toBe(false);
    expect(() => compiledEnvironment("Own")).toThrow(
      expect.objectContaining({ code: "ENVIRONMENT_NOT_COMPILED" }),
    );
    const other = cartPole();
    registerEnvironment("Own", { make: cartPole }); // The same.
    const another = (): void => registerEnvironment("Own", { make: () => other });
    expect(another).toThrow(/"Own" is the name of another environment already.*\n.*\{ replace: true \}/);
    expect(another).toThrow(expect.objectContaining({ code: "ENVIRONMENT_EXISTS" }));
    registerEnvironment("Own", { make: () => other }, { replace: true });
    expect(makeEnvironment("Own")).toBe(other);
  });

  it("refuse a built-in name and what makes nothing", () => {
    expect(() => registerEnvironment("Pendulum-v1", { make: cartPole })).toThrow(
      expect.objectContaining({ code: "ENVIRONMENT_EXISTS" }),
    );
    expect(() => registerEnvironment("Other", {} as never)).toThrow(/make of "Other" is undefined/);
    class Own {}
    expect(() => registerEnvironment("Other", { make: Own as never })).toThrow(
      /the class Own.*\n.*new Own\(\)/,
    );
    expect(() => registerEnvironment("", { make: cartPole })).toThrow(/the name is ""/);
  });

  it("say where something else is made", () => {
    registerEnvironment("Late", { make: (async () => cartPole()) as never });
    expect(() => makeEnvironment("Late")).toThrow(
      /make of "Late" gave a promise: environments are synchronous, and no environment.*ENVIRONMENT_INVALID/,
    );
  });

  it("that nobody knows are an error with a suggestion", () => {
    const unknown = (): unknown => makeEnvironment("CartPole-v2");
    expect(unknown).toThrow(expect.objectContaining({ code: "ENVIRONMENT_UNKNOWN" }));
    expect(unknown).toThrow(/no environment "CartPole-v2"; did you mean "CartPole-v1"\?/);
    expect(() => makeEnvironment("toString")).toThrow(
      expect.objectContaining({ code: "ENVIRONMENT_UNKNOWN" }),
    );
  });
});
