/** Numbers below it are taken for 0 by the binding, which rounds what is that near to a whole number. */
const smallest = Number.EPSILON;

/** A value as it must be handed to the binding. A tiny number goes as text: its column makes it a number again, exactly. */
export const bindable = (value: unknown): unknown =>
  typeof value === "number" && value > 0 && value < smallest ? String(value) : value;
