export const checkHelp = `Looks at the configuration, and asks each upstream for its list of models, with its own key. Nothing is generated, nothing is billed.

  npx modelgate check [options]

Options:
  --config FILE    the configuration; default: modelgate.config.* in this folder, else the environment
  --timeout 10     seconds that an upstream has for its answer
  --json           the same for programs

It says of each upstream whether it answers and takes the key, and of each name in \`models\` whether the upstream knows it. Exit
codes: 0 all upstreams answer, 1 the configuration is wrong or an upstream does not answer, 2 the command is.
`
