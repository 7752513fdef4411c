/** A number as messages show it: short, and the same for the same number. */
export const figure = (value: number): string => String(Number(value.toPrecision(4)));
