/** Names under which other libraries know an option, and what it is called here. */
export interface ForeignNames {
  /** Their spellings, separated by spaces. Case and underscores do not matter: `n_envs` is also `nEnvs`. */
  readonly theirs: string;
  /** Our names, best first. `trainingConfig.epochs` is the field of an option. A place offers those that it has. */
  readonly ours: readonly string[];
  /** Difference beside the name. */
  readonly note?: string;
}

/**
 * Names that people use who come from Stable-Baselines3, CleanRL, RLlib, Lightning, Keras, Composer, Transformers and
 * PyTorch: theirs, ours, a note; `seed*` stands for `seed trainingConfig.seed`. Every check of option names offers ours
 * instead, where the place has it: see `didYouMean`.
 */
const table = `
# reinforcement learning
n_envs num_envs num_environments n_environments envs num_envs_per_worker parallel_envs | environments count
env_id env_name environment gym_id env_fn make_env | env make
n_steps num_steps rollout_length rollout_fragment_length horizon | rolloutSteps
total_timesteps timesteps num_timesteps total_frames total_env_steps | totalSteps steps
n_minibatches num_minibatches | minibatches batchSize | minibatches is how many there are, not how large
minibatch_size sgd_minibatch_size | minibatches batchSize | minibatches is how many there are, not how large
ppo_epochs num_sgd_iter k_epochs opt_epochs | updateEpochs
ent_coef entropy_coef entropy_coeff entropy_coefficient entropy_cost entropy_beta | entropyWeight
vf_coef value_coef value_loss_coef vf_loss_coeff value_coefficient critic_coef | valueWeight
gae_lambda lam lmbda td_lambda | lambda
discount discount_factor discount_rate gae_gamma | gamma
clip_range clip_coef clip_param clip_eps clip_epsilon eps_clip clip_ratio | clip
clip_range_vf vf_clip_param clip_vloss clip_value_loss | valueClip
anneal_lr lr_decay | annealRate
norm_adv normalize_advantage advantage_normalization | normalizeAdvantages
norm_obs normalize_obs obs_norm | normalizeObservations
norm_reward normalize_reward reward_norm | normalizeRewards
policy_kwargs network_config | policy
net_arch | policy hidden
buffer_size replay_size replay_buffer_size memory_size replay_capacity | capacity
start_steps learn_start random_steps min_replay_size | learningStarts
gradient_steps updates_per_step | updates
train_freq train_frequency | rolloutSteps
exploration_fraction exploration_initial_eps | epsilon | as { from, to, over }, a number or a ramp
exploration_final_eps eps_start eps_end start_e end_e | epsilon | as { from, to, over }, a number or a ramp
eps_decay | epsilon | as { from, to, over }, a number or a ramp
target_update_interval target_network_frequency target_update_freq tau polyak | target | as { every, tau }
double_q double_dqn ddqn | double
num_workers n_workers num_rollout_workers | threads
n_eval_episodes num_episodes eval_episodes | episodes
# training of any kind
epochs | trainingConfig.epochs config.epochs
max_epochs num_epochs n_epochs num_train_epochs max_duration nb_epoch | updateEpochs epochs*
max_steps max_train_steps max_iters | maxUpdates* totalSteps steps
max_time | maxSeconds*
seed | trainingConfig.seed config.seed
random_state random_seed rng_seed | seed*
callbacks callback algorithms cbs early_stopping early_stopping_patience | hooks
loggers | logger sinks
verbose verbosity show_progress enable_progress_bar progress_bar | progress trace*
accelerator backend | engine
use_deterministic_algorithms deterministic_mode | deterministic*
run_name experiment_name | name*
local_rank global_rank node_rank | rank*
world_size num_processes | ranks*
val_check_interval check_val_every_n_epoch validation_freq | validate* | as a schedule: every({ epochs: 5 })
eval_interval eval_steps eval_every | validate* | as a schedule: every({ epochs: 5 })
# supervised training
learning_rate lr eta step_size | learningRate*
warmup_steps num_warmup_steps warmup_epochs | learningRate* | as a ramp: warmup({ updates: 500 }, cosine({ ... }))
warmup_ratio lr_scheduler lr_schedule | learningRate* | as a ramp: warmup({ updates: 500 }, cosine({ ... }))
scheduler | learningRate* | as a ramp: warmup({ updates: 500 }, cosine({ ... }))
batch_size train_batch_size bs per_device_train_batch_size | batchSize* minibatches
gradient_accumulation_steps accumulate_grad_batches grad_accum accumulation_steps grad_accum_steps | accumulate*
max_grad_norm gradient_clip_val grad_clip clip_norm clip_grad_norm gradient_clipping | maxNorm gradientClip*
weight_decay wd l2 l2_reg l2_regularization | weightDecay*
drop_last drop_remainder | lastBatch* | "drop" or "keep"
shuffle | trainingConfig.shuffle
train_dataloader train_dataloaders train_loader train_dataset train_data dataset data training_data | trainData data
val_data validation_data val_dataloader val_dataloaders val_loader val_dataset eval_dataset | valData validation
eval_dataloader valid_data | valData validation
net network module | model
optim opt optimizers | optimizer
loss_fn criterion loss_function objective | loss
config args training_args training_arguments | trainingConfig config
resume_from_checkpoint ckpt_path load_path resume | resumeFrom onStart
# checkpoints and files
dirpath checkpoint_dir save_dir output_dir save_folder default_root_dir log_dir dir folder | directory checkpointDir
save_top_k max_to_keep save_total_limit keep_checkpoints | keep
save_interval save_freq every_n_epochs every_n_train_steps log_every_n_steps | schedule | as every({ epochs: 5 })
log_interval frequency | schedule | as every({ epochs: 5 })
# layers and optimizers
hidden_sizes hidden_dims hidden_layers hidden_layer_sizes hidden_size hidden_dim layers units widths | hidden
output_dim out_dim out_features output_size out_size num_classes n_classes num_outputs | out
activation_fn nonlinearity act act_layer | activation
kernel_init kernel_initializer weight_init w_init | init
bias_init bias_initializer b_init | biasInit
use_bias with_bias | bias
eps | epsilon adamEpsilon
betas b1 beta_1 | beta1 beta2
b2 beta_2 | beta2
stride | strides
dilation_rate | dilation
`;

export const foreignNames: readonly ForeignNames[] = table.split("\n").flatMap((line) => {
  const [theirs = "", ours, note] = line.split(" | ");
  if (ours === undefined) return [];
  const names = ours.replace(/(\w+)\*/g, "$1 trainingConfig.$1").split(" ");
  return [{ theirs, ours: names, ...(note !== undefined && { note }) }];
});

/** As the table is searched. */
const spelling = (name: string): string => name.toLowerCase().replaceAll("_", "");

const rows = new Map(
  foreignNames.flatMap((row) => row.theirs.split(" ").map((name) => [spelling(name), row] as const)),
);

/** Our names for what another library calls `name`, as far as they are among those known here, as a hint. */
export function foreignHint(name: string, known: ReadonlySet<string>): string | undefined {
  const row = rows.get(spelling(name));
  const there = row?.ours.filter((ours) => ours !== name && known.has(ours.split(".")[0] ?? "")) ?? [];
  if (there.length === 0) return undefined;
  const note = row?.note === undefined ? "" : ` (${row.note})`;
  return `; did you mean ${there.map(asWritten).join(" or ")}${note}?`;
}

/** `"hooks"`; `trainingConfig: { epochs }` for the field of an option. */
function asWritten(ours: string): string {
  const [option, field] = ours.split(".");
  return field === undefined ? `"${option}"` : `${option}: { ${field} }`;
}
