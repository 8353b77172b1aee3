export const startHelp = `Starts the server.

  npx modelgate [start] [options]

Options:
  --config FILE    the configuration; default: modelgate.config.{ts,mts,js,mjs,cjs,json} in this folder, if there is one
  --port 8787      where it listens; 0: any free port
  --host 127.0.0.1 this machine only; 0.0.0.0: everyone who can reach it
  --watch          reads the configuration again whenever its file changes; without it, at SIGHUP

Without a configuration it serves every provider whose key is in the environment (or in .env), by the model's name, and without any
key a demo, so that everything can be tried:

  npx modelgate
  OPENAI_API_KEY=sk-… ANTHROPIC_API_KEY=sk-ant-… npx modelgate --port 9000

Variables:
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, … with …_BASE_URL for other addresses
  PORT, HOST           as --port and --host
  MODELGATE_TOKEN      a token that is let in; else one is made for this run
  MODELGATE_DATA       a folder: tokens are issued into it, with limits and budgets; see npx modelgate tokens --help
  MODELGATE_REDIS      the same for several servers: redis://…
  MODELGATE_PRICES     a JSON file: what models cost
  MODELGATE_LEDGER     a folder: a record of each call
`
