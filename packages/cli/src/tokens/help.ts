export const tokensHelp = `Tokens for the users of this server. It can run meanwhile: it sees every change within a second.

Where they are is as for the server: MODELGATE_DATA or MODELGATE_REDIS, else \`data\` or \`redis\` of modelgate.config.* in this folder.

  npx modelgate tokens issue [settings]          a new token; its secret is told this once
  npx modelgate tokens list [--owner ada]        all tokens, the oldest first
  npx modelgate tokens show <id>                 one token
  npx modelgate tokens revoke <id>               ends a token for good
  npx modelgate tokens rotate <id> [--grace-hours 24]
                                                 a new secret; the old one is good for so long
  npx modelgate tokens usage <id> [--from 2026-11-01] [--to 2026-11-30]
                                                 what it has used and has left; days in UTC

Settings for issue, all of them optional:
  --name laptop                what it is for
  --owner ada                  whose it is
  --models 'gpt-*,claude-*'    what may be asked for; default: everything
  --expires 30d                h, d, w from now, or a date such as 2027-01-31; default: never
  --requests-per-minute 60
  --tokens-per-minute 100000   input and output together
  --concurrent 4               calls at the same time
  --budget-usd 5               needs prices: MODELGATE_PRICES=prices.json, here and for the server
  --budget-tokens 1000000
  --per month                  of the budgets: day, week, month, total; default: month

For all of them:
  --data ./data                the folder, in place of what is configured
  --config FILE                another configuration
  --json                       answers for programs

Example:
  npx modelgate tokens issue --data ./data --name laptop --owner ada --models 'gpt-*' --budget-usd 5 --per month
`
