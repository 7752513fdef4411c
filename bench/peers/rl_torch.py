"""PPO in PyTorch over gymnasium at CleanRL's settings: PyTorch's side of bench/rl.ts.

Four environments in one process, 128 steps, four epochs of four minibatches. What ends an episode ends it, a time
limit too: CleanRL does not bootstrap there.
"""

import time
from functools import cache

import gymnasium
import numpy as np
import torch
from torch import nn

from protocol import serve
from rl_threads import fastest_threads

ENVIRONMENTS, STEPS, EPOCHS, MINIBATCHES = 4, 128, 4, 4
RATE, GAMMA, LAMBDA, CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT, LARGEST_NORM = 2.5e-4, 0.99, 0.95, 0.2, 0.5, 0.01, 0.5
BATCH = ENVIRONMENTS * STEPS


def dense(inputs, outputs, gain):
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def tower(inputs, outputs, last_gain):
    return nn.Sequential(
        dense(inputs, 64, 2**0.5),
        nn.Tanh(),
        dense(64, 64, 2**0.5),
        nn.Tanh(),
        dense(64, outputs, last_gain),
    )


class Ppo:
    """A run of so many updates, over which the learning rate falls to nothing. It can be taken in pieces."""

    def __init__(self, seed, updates):
        torch.manual_seed(seed)
        self.updates, self.done_updates = updates, 0
        self.environments = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.make("CartPole-v1") for _ in range(ENVIRONMENTS)],
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
        )
        inputs = self.environments.single_observation_space.shape[0]
        actions = int(self.environments.single_action_space.n)
        self.policy, self.critic = tower(inputs, actions, 0.01), tower(inputs, 1, 1.0)
        self.parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=RATE, eps=1e-5)
        self.shuffle = np.random.default_rng(seed)
        observation, _ = self.environments.reset(seed=seed)
        self.observation = torch.from_numpy(observation)
        self.ended = torch.zeros(ENVIRONMENTS)
        self.observations = torch.zeros(STEPS, ENVIRONMENTS, inputs)
        self.actions, self.log_probabilities, self.rewards, self.endings, self.values = (
            torch.zeros(STEPS, ENVIRONMENTS) for _ in range(5)
        )
        self.returns, self.running = [], np.zeros(ENVIRONMENTS)

    def update(self):
        self.optimizer.param_groups[0]["lr"] = RATE * max(0.0, 1.0 - self.done_updates / self.updates)
        self.collect()
        self.learn(*self.advantages())
        self.done_updates += 1

    @torch.no_grad()
    def collect(self):
        for t in range(STEPS):
            self.observations[t], self.endings[t] = self.observation, self.ended
            distribution = torch.distributions.Categorical(logits=self.policy(self.observation))
            action = distribution.sample()
            self.actions[t], self.log_probabilities[t] = action, distribution.log_prob(action)
            self.values[t] = self.critic(self.observation).flatten()
            observation, reward, terminated, truncated, _ = self.environments.step(action.numpy())
            ended = terminated | truncated
            self.rewards[t] = torch.from_numpy(reward)
            self.observation = torch.from_numpy(observation)
            self.ended = torch.from_numpy(ended.astype(np.float32))
            self.running += reward
            if ended.any():
                self.returns.extend(self.running[ended])
                self.running[ended] = 0

    @torch.no_grad()
    def advantages(self):
        found = torch.zeros_like(self.rewards)
        later, value, ended = 0.0, self.critic(self.observation).flatten(), self.ended
        for t in reversed(range(STEPS)):
            goes_on = 1.0 - ended
            error = self.rewards[t] + GAMMA * value * goes_on - self.values[t]
            found[t] = later = error + GAMMA * LAMBDA * goes_on * later
            value, ended = self.values[t], self.endings[t]
        return found, found + self.values

    def learn(self, advantages, targets):
        observations, actions = self.observations.flatten(0, 1), self.actions.flatten()
        old, old_values = self.log_probabilities.flatten(), self.values.flatten()
        advantages, targets = advantages.flatten(), targets.flatten()
        for _ in range(EPOCHS):
            for rows in torch.from_numpy(self.shuffle.permutation(BATCH)).split(BATCH // MINIBATCHES):
                distribution = torch.distributions.Categorical(logits=self.policy(observations[rows]))
                ratio = (distribution.log_prob(actions[rows]) - old[rows]).exp()
                advantage = advantages[rows]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value, before, target = self.critic(observations[rows]).flatten(), old_values[rows], targets[rows]
                near = before + (value - before).clamp(-CLIP, CLIP)
                value_loss = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
                loss = policy_loss - ENTROPY_WEIGHT * distribution.entropy().mean() + VALUE_WEIGHT * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, LARGEST_NORM)
                self.optimizer.step()

    @torch.no_grad()
    def evaluate(self, episodes, seed, greedy):
        """Returns of whole episodes, each in an environment of its own."""
        environments = [gymnasium.make("CartPole-v1") for _ in range(episodes)]
        observations = [each.reset(seed=seed + i)[0] for i, each in enumerate(environments)]
        returns, playing = np.zeros(episodes), list(range(episodes))
        while playing:
            logits = self.policy(torch.from_numpy(np.stack([observations[i] for i in playing])))
            actions = logits.argmax(1) if greedy else torch.distributions.Categorical(logits=logits).sample()
            still = []
            for i, action in zip(playing, actions.tolist()):
                observations[i], reward, terminated, truncated, _ = environments[i].step(action)
                returns[i] += reward
                if not (terminated or truncated):
                    still.append(i)
            playing = still
        return returns


def frames_a_second():
    ppo = Ppo(0, 1000)
    ppo.update()
    begin = time.perf_counter()
    for _ in range(2):
        ppo.update()
    return 2 * BATCH / (time.perf_counter() - begin)


def training():
    """Frames, in whole updates."""
    ppo = Ppo(0, 1_000_000)

    def run(frames):
        assert frames % BATCH == 0, f"{frames} frames are no multiple of {BATCH}"
        for _ in range(frames // BATCH):
            ppo.update()

    run(2 * BATCH)
    return run, None


@cache
def learned(seed, frames, episodes, greedy):
    """What a seed gives, which is the same each time: several figures of a run ask for it."""
    ppo = Ppo(seed, frames // BATCH)
    for _ in range(frames // BATCH):
        ppo.update()
    return float(ppo.evaluate(episodes, 1000 * seed, greedy).mean())


def learning(frames, episodes, greedy):
    """The mean return of evaluation episodes after training for so many frames from a seed."""
    return lambda seed: learned(seed, frames, episodes, greedy), None


def describe():
    return f"{torch.__version__} on cpu, gymnasium {gymnasium.__version__}, {fastest_threads(frames_a_second)}"


serve(describe, {"training": training, "learning": learning})
