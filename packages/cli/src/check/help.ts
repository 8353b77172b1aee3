export const checkHelp = `Validates the configuration and lists the models of each upstream with its own key. Nothing is generated or billed.

  npx modelgate check [options]

Options:
  --config FILE    the configuration; default: modelgate.config.* in this folder, else the environment
  --timeout 10     seconds to wait for each upstream
  --json           prints the report as JSON

The report shows whether each upstream responds and accepts the key, and warns about names in \`models\` that the upstream does not list.
Exit codes: 0 all upstreams OK, 1 invalid configuration or failing upstream, 2 invalid command line.
`
