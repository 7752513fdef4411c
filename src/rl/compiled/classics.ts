/** Gymnasium's classic control tasks as functions of values, time limits included: they run inside the program. */
export { type AcrobotState, acrobot } from "./classics/acrobot.ts";
export { type CartPoleState, cartPole } from "./classics/cart-pole.ts";
export { type MountainCarState, mountainCar, mountainCarContinuous } from "./classics/mountain-car.ts";
export { type PendulumState, pendulum } from "./classics/pendulum.ts";
