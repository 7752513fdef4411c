"""CartPole-v1 as functions of JAX, for machines where gymnax cannot be installed: what rl_jax.py uses of gymnax."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
LARGEST_ANGLE, LARGEST_PLACE, LONGEST = 12 * 2 * jnp.pi / 360, 2.4, 500


class State(NamedTuple):
    place: jax.Array
    speed: jax.Array
    angle: jax.Array
    turning: jax.Array
    time: jax.Array

    def observed(self):
        return jnp.array(self[:4])


def reset(key):
    state = State(*jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), jnp.int32(0))
    return state.observed(), state


def moved(state, action):
    place, speed, angle, turning, time = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (FORCE * (2 * action - 1) + POLE * HALF_LENGTH * turning**2 * sine) / (CART + POLE)
    turning_change = (GRAVITY * sine - cosine * push) / (
        HALF_LENGTH * (4.0 / 3.0 - POLE * cosine**2 / (CART + POLE))
    )
    speed_change = push - POLE * HALF_LENGTH * turning_change * cosine / (CART + POLE)
    return State(
        place + SECONDS * speed,
        speed + SECONDS * speed_change,
        angle + SECONDS * turning,
        turning + SECONDS * turning_change,
        time + 1,
    )


def step(key, state, action):
    """The next step, which is the first of a new episode where one ended."""
    following = moved(state, action)
    terminated = (jnp.abs(following.place) > LARGEST_PLACE) | (jnp.abs(following.angle) > LARGEST_ANGLE)
    truncated = following.time >= LONGEST
    ended = terminated | truncated
    _, fresh = reset(key)
    state = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, following)
    return state.observed(), state, jnp.float32(1), terminated, truncated
