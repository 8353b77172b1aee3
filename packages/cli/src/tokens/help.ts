export const tokensHelp = `Manages the tokens of this server's users. A running server applies changes within one second.

Tokens are stored as configured for the server: MODELGATE_DATA or MODELGATE_REDIS, else \`data\` or \`redis\` of modelgate.config.* in this folder.

  npx modelgate tokens issue [options]           issues a token; its secret is shown only once
  npx modelgate tokens list [--owner ada]        lists all tokens, oldest first
  npx modelgate tokens show <id>                 shows one token
  npx modelgate tokens revoke <id>               revokes a token permanently
  npx modelgate tokens rotate <id> [--grace-hours 24]
                                                 issues a new secret; the old one stays valid for this time
  npx modelgate tokens usage <id> [--from 2026-11-01] [--to 2026-11-30]
                                                 shows usage and remaining budgets; days in UTC

Options of issue, all optional:
  --name laptop                purpose of the token
  --owner ada                  owner of the token
  --models 'gpt-*,claude-*'    allowed models; default: all
  --expires 30d                h, d, w from now, or a date such as 2027-01-31; default: never
  --requests-per-minute 60
  --tokens-per-minute 100000   input and output together
  --concurrent 4               calls at the same time
  --budget-usd 5               needs prices: MODELGATE_PRICES=prices.json, here and for the server
  --budget-tokens 1000000
  --per month                  period of the budgets: day, week, month, total; default: month

Options of all commands:
  --data ./data                folder of the tokens, in place of the configured one
  --config FILE                configuration file
  --json                       prints JSON

Example:
  npx modelgate tokens issue --data ./data --name laptop --owner ada --models 'gpt-*' --budget-usd 5 --per month
`

export const ownersHelp = `Manages limits and budgets that all tokens of an owner share. A running server applies changes within one second.

They are stored with the tokens: see npx modelgate tokens --help.

  npx modelgate owners set <owner> [options]     sets the limits and budgets of an owner, in place of earlier ones
  npx modelgate owners list                      lists all owners with limits or budgets
  npx modelgate owners show <owner>              shows one owner
  npx modelgate owners delete <owner>            removes the limits and budgets of an owner
  npx modelgate owners usage <owner> [--from 2026-11-01] [--to 2026-11-30]
                                                 shows usage and remaining budgets; days in UTC

Options of set, at least one:
  --requests-per-minute 60
  --tokens-per-minute 100000   input and output together
  --concurrent 4               calls at the same time
  --budget-usd 5               needs prices: MODELGATE_PRICES=prices.json, here and for the server
  --budget-tokens 1000000
  --per month                  period of the budgets: day, week, month, total; default: month

Options of all commands:
  --data ./data                folder of the tokens, in place of the configured one
  --config FILE                configuration file
  --json                       prints JSON

Example:
  npx modelgate owners set ada --data ./data --budget-usd 20 --per month
`
