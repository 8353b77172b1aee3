export const pricesHelp = `Checks the prices of the configured models, or prints list prices.

  npx modelgate prices check [options]    lists the models that have no price, or an old one
  npx modelgate prices list > prices.json prints the list prices of well-known models, each with its source and date

Options of check:
  --config FILE    the configuration; default: modelgate.config.* in this folder, else the environment
  --max-age DAYS   also fails for prices that were read more days ago (\`asOf\` in the table)
  --json           prints the report as JSON

The prices are those of the server: MODELGATE_PRICES, or \`prices\` in the configuration. No upstream is called.
Exit codes: 0 every model has a price, 1 a model has none or one that is too old, or the configuration is invalid, 2 invalid command line.
`
