export const callsHelp = `Prints the recent calls of a running server, one line for each.

  npx modelgate calls [options]

Options:
  --follow              prints new calls until it is interrupted
  --url http://…        address of the server, with its base path; default: http://127.0.0.1 and PORT or 8787
  --last 50             number of calls to begin with, at most 500
  --token laptop        only calls of callers whose id or name contains this text
  --model gpt-5         only calls of models whose name contains this text
  --upstream openai     only calls with an attempt at an upstream whose name contains this text
  --status 5xx          only calls with this status: 429, 5xx or failed
  --json                prints JSON, one line for each call, with its attempts and losses, and the bodies that the server captured

MODELGATE_ADMIN_TOKEN must be set as for the server. Without it the server keeps no recent calls.
`
