"""PPO wholly in JAX over gymnax, as PureJaxRL does it: JAX's side of bench/rl.ts and bench/rl-gpu.ts.

Environments, advantages and all minibatches of many updates are one compiled program. The settings are CleanRL's; the
number of environments is the case's.
"""

import json
import subprocess
import sys
import time
from importlib.metadata import version
from typing import NamedTuple

import jax
import jax.numpy as jnp

from protocol import Seconds, serve

try:
    import gymnax

    _environment, _settings = gymnax.make("CartPole-v1")
    ENVIRONMENT = f"gymnax {version('gymnax')}"

    def reset(key):
        return _environment.reset(key, _settings)

    def step_environment(key, state, action):
        return _environment.step(key, state, action, _settings)[:5]

except ImportError:
    from rl_cartpole import reset, step as step_environment

    ENVIRONMENT = "a CartPole of the bench's own"

INPUTS, ACTIONS = 4, 2
STEPS, EPOCHS, MINIBATCHES = 128, 4, 4
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
RATE, GAMMA, LAMBDA, CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT, LARGEST_NORM = 2.5e-4, 0.99, 0.95, 0.2, 0.5, 0.01, 0.5
# Over how many updates the learning rate falls: more than are ever timed, so that none is without learning.
ANNEALED_OVER = 1_000_000


class Step(NamedTuple):
    observation: jax.Array
    action: jax.Array
    log_probability: jax.Array
    value: jax.Array
    reward: jax.Array
    ended: jax.Array


def tower_init(key, inputs, outputs, last_gain):
    sizes, gains = [(inputs, 64), (64, 64), (64, outputs)], [2**0.5, 2**0.5, last_gain]
    return [
        {"w": jax.nn.initializers.orthogonal(gain)(key, size), "b": jnp.zeros(size[1])}
        for key, size, gain in zip(jax.random.split(key, 3), sizes, gains)
    ]


def tower(layers, x):
    *hidden, last = layers
    for layer in hidden:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def forward(params, observation):
    """The logarithms of the actions' probabilities, and the value."""
    return jax.nn.log_softmax(tower(params["policy"], observation)), tower(params["critic"], observation)[..., 0]


def chosen(log_probabilities, action):
    return jnp.take_along_axis(log_probabilities, action[..., None], axis=-1)[..., 0]


def loss_of(params, batch, advantage, target):
    log_probabilities, value = forward(params, batch.observation)
    near = batch.value + jnp.clip(value - batch.value, -CLIP, CLIP)
    value_loss = 0.5 * jnp.maximum(jnp.square(value - target), jnp.square(near - target)).mean()
    ratio = jnp.exp(chosen(log_probabilities, batch.action) - batch.log_probability)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy_loss = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    entropy = -(jnp.exp(log_probabilities) * log_probabilities).sum(-1).mean()
    return policy_loss + VALUE_WEIGHT * value_loss - ENTROPY_WEIGHT * entropy


def advantages_of(steps, last_value):
    def back(carry, step):
        later, value = carry
        goes_on = 1.0 - step.ended
        error = step.reward + GAMMA * value * goes_on - step.value
        later = error + GAMMA * LAMBDA * goes_on * later
        return (later, step.value), later

    _, found = jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), steps, reverse=True, unroll=16)
    return found, found + steps.value


def adam(params, state, grads):
    """Adam with the gradient's norm bounded and a learning rate that falls after each update of the policy."""
    m, v, count = state
    rate = RATE * (1.0 - count // (EPOCHS * MINIBATCHES) / ANNEALED_OVER)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    scale = LARGEST_NORM / jnp.maximum(norm, LARGEST_NORM)
    grads = jax.tree.map(lambda g: g * scale, grads)
    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, grads)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, grads)
    count = count + 1
    c1, c2 = 1 - BETA1**count, 1 - BETA2**count
    params = jax.tree.map(lambda p, m, v: p - rate * (m / c1) / (jnp.sqrt(v / c2) + EPSILON), params, m, v)
    return params, (m, v, count)


def program(environments, updates):
    """What a run begins with, made from a key, and the compiled program of so many updates from there."""
    batch_size = environments * STEPS

    def start(key):
        policy, critic, begin, key = jax.random.split(key, 4)
        params = {
            "policy": tower_init(policy, INPUTS, ACTIONS, 0.01),
            "critic": tower_init(critic, INPUTS, 1, 1.0),
        }
        observation, state = jax.vmap(reset)(jax.random.split(begin, environments))
        moments = jax.tree.map(jnp.zeros_like, params)
        zeros = jnp.zeros(environments)
        return params, (moments, moments, jnp.int32(0)), state, observation, (zeros, zeros), key

    def collect(params):
        def step(carry, _):
            state, observation, (running, last), key = carry
            key, act, move = jax.random.split(key, 3)
            log_probabilities, value = forward(params, observation)
            action = jax.random.categorical(act, log_probabilities)
            following, state, reward, terminated, truncated = jax.vmap(step_environment)(
                jax.random.split(move, environments), state, action
            )
            ended = jnp.logical_or(terminated, truncated)
            running = running + reward
            returns = jnp.where(ended, 0.0, running), jnp.where(ended, running, last)
            log_probability = chosen(log_probabilities, action)
            taken = Step(observation, action, log_probability, value, reward, ended.astype(jnp.float32))
            return (state, following, returns, key), (taken, returns[1])

        return step

    def minibatch(carry, part):
        loss, grads = jax.value_and_grad(loss_of)(carry[0], *part)
        return adam(*carry, grads), loss

    def update(carry, _):
        params, optimizer_state, state, observation, returns, key = carry
        (state, observation, returns, key), (steps, ends) = jax.lax.scan(
            collect(params), (state, observation, returns, key), length=STEPS
        )
        advantages, targets = advantages_of(steps, forward(params, observation)[1])
        flat = jax.tree.map(lambda x: x.reshape(batch_size, *x.shape[2:]), (steps, advantages, targets))

        def epoch(carry, _):
            params, optimizer_state, key = carry
            key, shuffle = jax.random.split(key)
            order = jax.random.permutation(shuffle, batch_size)
            parts = jax.tree.map(
                lambda x: jnp.take(x, order, axis=0).reshape(MINIBATCHES, -1, *x.shape[1:]), flat
            )
            (params, optimizer_state), losses = jax.lax.scan(minibatch, (params, optimizer_state), parts)
            return (params, optimizer_state, key), losses

        (params, optimizer_state, key), losses = jax.lax.scan(
            epoch, (params, optimizer_state, key), length=EPOCHS
        )
        return (params, optimizer_state, state, observation, returns, key), (losses.mean(), ends.mean())

    return jax.jit(start), jax.jit(lambda carry: jax.lax.scan(update, carry, length=updates))


def training(environments, updates):
    """Frames through the program, waiting for it; a run is a whole number of programs."""
    start, train = program(environments, updates)
    carry = start(jax.random.PRNGKey(0))
    frames = environments * STEPS * updates

    def run(count):
        nonlocal carry
        assert count % frames == 0, f"{count} frames are no multiple of {frames}"
        for _ in range(count // frames):
            carry, (losses, returns) = train(carry)
        jax.block_until_ready((carry, losses, returns))
        return float(returns[-1])

    run(frames)
    return run, None


def anew(environments, updates):
    """The same in a fresh process for each run: what a program runs at may differ from process to process."""
    params = json.dumps({"environments": environments, "updates": updates})

    def run(count):
        words = [sys.executable, __file__, params, str(count)]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
        return Seconds(done.stdout.split()[-1])

    return run, None


def once(params, count):
    run, _ = training(**json.loads(params))
    begin = time.perf_counter()
    run(int(count))
    print(time.perf_counter() - begin)


if len(sys.argv) > 1:
    once(*sys.argv[1:])
else:
    serve(
        lambda: f"{jax.__version__} on {jax.devices()[0].device_kind}, {ENVIRONMENT}",
        {"training": training, "anew": anew},
    )
