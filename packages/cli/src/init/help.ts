export const initHelp = `Writes a configuration file for the providers whose keys are in the environment or in .env. Without any key, it configures OpenAI,
Anthropic and Gemini as examples.

  npx modelgate init [options]

Options:
  --ts       writes modelgate.config.ts; the default if this folder contains a tsconfig.json
  --js       writes modelgate.config.js; the default otherwise
  --json     writes modelgate.config.json
  --force    overwrites an existing file

The file contains only the names of environment variables, not the keys.
`
