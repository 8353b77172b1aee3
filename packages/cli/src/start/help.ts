export const startHelp = `Starts the server.

  npx modelgate [start] [options]

Options:
  --config FILE    the configuration; default: modelgate.config.{ts,mts,js,mjs,cjs,json} in this folder, if there is one
  --port 8787      port to listen on; 0: any free port
  --host 127.0.0.1 address to listen on: this machine only; 0.0.0.0: all interfaces
  --workers 1      number of processes that serve calls; auto: one for each processor core; default: 1
  --log pretty     format of the log: pretty, json or off; default: pretty on a terminal, else json
  --log-level info lowest level that is logged: debug, info, warn or error
  --capture bodies keeps requests and responses of recent calls in memory, for holders of MODELGATE_ADMIN_TOKEN; default: off
  --watch          reloads the configuration when its file changes; without it, on SIGHUP

Without a configuration the server offers the models of every provider whose key is in the environment or in .env. Without any key it
runs a demo:

  npx modelgate
  OPENAI_API_KEY=sk-… ANTHROPIC_API_KEY=sk-ant-… npx modelgate --port 9000

Variables:
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, … and …_BASE_URL for other addresses
  PORT, HOST           as --port and --host
  MODELGATE_CAPTURE    as --capture; MODELGATE_WORKERS: as --workers
  LOG_LEVEL            as --log-level; NO_COLOR, FORCE_COLOR: without or with colours
  MODELGATE_TOKEN      accepted API key; default: generated for this run
  MODELGATE_ADMIN_TOKEN  serves the recent calls of all callers at /console/calls to holders of this token; see npx modelgate calls --help
  MODELGATE_DATA       folder of issued tokens with limits and budgets; see npx modelgate tokens --help
  MODELGATE_REDIS      Redis of issued tokens for several servers: redis://…
  MODELGATE_PRICES     JSON file with the prices of models
  MODELGATE_LEDGER     folder of the ledger: a record of each call
`
