export const pricesHelp = `Lists the models of the configuration that have no price.

  npx modelgate prices check [options]

Options:
  --config FILE    the configuration; default: modelgate.config.* in this folder, else the environment
  --json           prints the report as JSON

The prices are those of the server: MODELGATE_PRICES, or \`prices\` in the configuration. No upstream is called.
Exit codes: 0 every model has a price, 1 a model has none or the configuration is invalid, 2 invalid command line.
`
