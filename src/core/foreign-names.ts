/** Names under which other libraries know an option, and what it is called here. */
export interface ForeignNames {
  /** Their spellings, separated by spaces. Case and underscores do not matter: `n_envs` is also `nEnvs`. */
  readonly theirs: string;
  /** Our names, best first. `trainingConfig.epochs` is the field of an option. A place offers those that it has. */
  readonly ours: readonly string[];
  /** Difference beside the name. */
  readonly note?: string;
}

const ofConfig = (name: string): readonly string[] => [name, `trainingConfig.${name}`];

/**
 * Names that people use who come from Stable-Baselines3, CleanRL, RLlib, Lightning, Keras, Composer, Transformers and
 * PyTorch. Every check of option names offers ours instead, where the place has it: see `didYouMean`.
 */
export const foreignNames: readonly ForeignNames[] = [
  // Reinforcement learning.
  {
    theirs: "n_envs num_envs num_environments n_environments envs num_envs_per_worker parallel_envs",
    ours: ["environments", "count"],
  },
  { theirs: "env_id env_name environment gym_id env_fn make_env", ours: ["env", "make"] },
  { theirs: "n_steps num_steps rollout_length rollout_fragment_length horizon", ours: ["rolloutSteps"] },
  {
    theirs: "total_timesteps timesteps num_timesteps total_frames total_env_steps",
    ours: ["totalSteps", "steps"],
  },
  {
    theirs: "n_minibatches num_minibatches minibatch_size sgd_minibatch_size",
    ours: ["minibatches", "batchSize"],
    note: "minibatches is how many there are, not how large",
  },
  { theirs: "ppo_epochs num_sgd_iter k_epochs opt_epochs", ours: ["updateEpochs"] },
  {
    theirs: "ent_coef entropy_coef entropy_coeff entropy_coefficient entropy_cost entropy_beta",
    ours: ["entropyWeight"],
  },
  {
    theirs: "vf_coef value_coef value_loss_coef vf_loss_coeff value_coefficient critic_coef",
    ours: ["valueWeight"],
  },
  { theirs: "gae_lambda lam lmbda td_lambda", ours: ["lambda"] },
  { theirs: "discount discount_factor discount_rate gae_gamma", ours: ["gamma"] },
  { theirs: "clip_range clip_coef clip_param clip_eps clip_epsilon eps_clip clip_ratio", ours: ["clip"] },
  { theirs: "clip_range_vf vf_clip_param clip_vloss clip_value_loss", ours: ["valueClip"] },
  { theirs: "anneal_lr lr_decay", ours: ["annealRate"] },
  { theirs: "norm_adv normalize_advantage advantage_normalization", ours: ["normalizeAdvantages"] },
  { theirs: "norm_obs normalize_obs obs_norm", ours: ["normalizeObservations"] },
  { theirs: "norm_reward normalize_reward reward_norm", ours: ["normalizeRewards"] },
  { theirs: "policy_kwargs network_config", ours: ["policy"] },
  { theirs: "net_arch", ours: ["policy", "hidden"] },
  { theirs: "buffer_size replay_size replay_buffer_size memory_size replay_capacity", ours: ["capacity"] },
  { theirs: "start_steps learn_start random_steps min_replay_size", ours: ["learningStarts"] },
  { theirs: "gradient_steps updates_per_step", ours: ["updates"] },
  { theirs: "train_freq train_frequency", ours: ["rolloutSteps"] },
  {
    theirs:
      "exploration_fraction exploration_initial_eps exploration_final_eps eps_start eps_end start_e end_e eps_decay",
    ours: ["epsilon"],
    note: "as { from, to, over }, a number or a ramp",
  },
  {
    theirs: "target_update_interval target_network_frequency target_update_freq tau polyak",
    ours: ["target"],
    note: "as { every, tau }",
  },
  { theirs: "double_q double_dqn ddqn", ours: ["double"] },
  { theirs: "num_workers n_workers num_rollout_workers", ours: ["threads"] },
  { theirs: "n_eval_episodes num_episodes eval_episodes", ours: ["episodes"] },

  // Training of any kind.
  { theirs: "epochs", ours: ["trainingConfig.epochs", "config.epochs"] },
  {
    theirs: "max_epochs num_epochs n_epochs num_train_epochs max_duration nb_epoch",
    ours: ["updateEpochs", ...ofConfig("epochs")],
  },
  { theirs: "max_steps max_train_steps max_iters", ours: [...ofConfig("maxUpdates"), "totalSteps", "steps"] },
  { theirs: "max_time", ours: ofConfig("maxSeconds") },
  { theirs: "seed", ours: ["trainingConfig.seed", "config.seed"] },
  { theirs: "random_state random_seed rng_seed", ours: ofConfig("seed") },
  { theirs: "callbacks callback algorithms cbs early_stopping early_stopping_patience", ours: ["hooks"] },
  { theirs: "loggers", ours: ["logger", "sinks"] },
  {
    theirs: "verbose verbosity show_progress enable_progress_bar progress_bar",
    ours: ["progress", ...ofConfig("trace")],
  },
  { theirs: "accelerator backend", ours: ["engine"] },
  { theirs: "use_deterministic_algorithms deterministic_mode", ours: ofConfig("deterministic") },
  { theirs: "run_name experiment_name", ours: ofConfig("name") },
  { theirs: "local_rank global_rank node_rank", ours: ofConfig("rank") },
  { theirs: "world_size num_processes", ours: ofConfig("ranks") },
  {
    theirs: "val_check_interval check_val_every_n_epoch validation_freq eval_interval eval_steps eval_every",
    ours: ofConfig("validate"),
    note: "as a schedule: every({ epochs: 5 })",
  },

  // Supervised training.
  { theirs: "learning_rate lr eta step_size", ours: ofConfig("learningRate") },
  {
    theirs: "warmup_steps num_warmup_steps warmup_epochs warmup_ratio lr_scheduler lr_schedule scheduler",
    ours: ofConfig("learningRate"),
    note: "as a ramp, such as warmup({ updates: 500 }, cosine({ ... }))",
  },
  {
    theirs: "batch_size train_batch_size bs per_device_train_batch_size",
    ours: [...ofConfig("batchSize"), "minibatches"],
  },
  {
    theirs:
      "gradient_accumulation_steps accumulate_grad_batches grad_accum accumulation_steps grad_accum_steps",
    ours: ofConfig("accumulate"),
  },
  {
    theirs: "max_grad_norm gradient_clip_val grad_clip clip_norm clip_grad_norm gradient_clipping",
    ours: ["maxNorm", ...ofConfig("gradientClip")],
  },
  { theirs: "weight_decay wd l2 l2_reg l2_regularization", ours: ofConfig("weightDecay") },
  { theirs: "drop_last drop_remainder", ours: ofConfig("lastBatch"), note: '"drop" or "keep"' },
  { theirs: "shuffle", ours: ["trainingConfig.shuffle"] },
  {
    theirs:
      "train_dataloader train_dataloaders train_loader train_dataset train_data dataset data training_data",
    ours: ["trainData", "data"],
  },
  {
    theirs:
      "val_data validation_data val_dataloader val_dataloaders val_loader val_dataset eval_dataset eval_dataloader valid_data",
    ours: ["valData", "validation"],
  },
  { theirs: "net network module", ours: ["model"] },
  { theirs: "optim opt optimizers", ours: ["optimizer"] },
  { theirs: "loss_fn criterion loss_function objective", ours: ["loss"] },
  { theirs: "config args training_args training_arguments", ours: ["trainingConfig", "config"] },
  { theirs: "resume_from_checkpoint ckpt_path load_path resume", ours: ["resumeFrom", "onStart"] },

  // Checkpoints and files.
  {
    theirs: "dirpath checkpoint_dir save_dir output_dir save_folder default_root_dir log_dir dir folder",
    ours: ["directory", "checkpointDir"],
  },
  { theirs: "save_top_k max_to_keep save_total_limit keep_checkpoints", ours: ["keep"] },
  {
    theirs:
      "save_interval save_freq every_n_epochs every_n_train_steps log_every_n_steps log_interval frequency",
    ours: ["schedule"],
    note: "as every({ epochs: 5 })",
  },

  // Layers and optimizers.
  {
    theirs:
      "hidden_sizes hidden_dims hidden_layers hidden_layer_sizes hidden_size hidden_dim layers units widths",
    ours: ["hidden"],
  },
  {
    theirs: "output_dim out_dim out_features output_size out_size num_classes n_classes num_outputs",
    ours: ["out"],
  },
  { theirs: "activation_fn nonlinearity act act_layer", ours: ["activation"] },
  { theirs: "kernel_init kernel_initializer weight_init w_init", ours: ["init"] },
  { theirs: "bias_init bias_initializer b_init", ours: ["biasInit"] },
  { theirs: "use_bias with_bias", ours: ["bias"] },
  { theirs: "eps", ours: ["epsilon", "adamEpsilon"] },
  { theirs: "betas b1 beta_1", ours: ["beta1", "beta2"] },
  { theirs: "b2 beta_2", ours: ["beta2"] },
  { theirs: "stride", ours: ["strides"] },
  { theirs: "dilation_rate", ours: ["dilation"] },
];

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
